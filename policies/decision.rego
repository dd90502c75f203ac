# METADATA
# title: The policy of the gateway
# description: >-
#   Decides on one proposed tool call. Rules are positive: a condition has to be proved, and a reason is its negation, so
#   that whatever is missing or undefined denies. A call without a reason against it is allowed; every reason is returned.
package soclab.gateway

settings := data.soclab.settings

# Short names: the embedded engine keeps the value of a rule, and walks the whole input at each `input.…`.
tool := input.tool

targets := input.targets

evidence := input.evidence

incident := input.incident

leaving := input.leaving

# METADATA
# title: The answer to the gateway
# description: An allowance names its obligations, a denial its reasons. Both are sorted.
# entrypoint: true
decision := {"outcome": "deny", "reasons": [reason | some reason in reasons], "obligations": []} if count(reasons) > 0

decision := {"outcome": "allow", "reasons": [], "obligations": [name | some name in obligations]} if count(reasons) == 0

# METADATA
# title: The call changes state
# description: Everything that is not proved to only read or to only take a note counts as a state change.
changes_state if {
	not observes
	not takes_notes
}

observes if {
	tool.authority == "observe"
	tool.effect == "read"
}

takes_notes if tool.authority == "note"
