# What the gateway must do with an allowed call: redact what is read, record a recommendation, ask a human first.
package soclab.gateway

# METADATA
# title: Redact what the agent is handed
# description: Holds for every call that is not known to be a note or a state change.
obligations contains "redact" if not hands_nothing_out

hands_nothing_out if tool.authority in ["note", "act"]

# METADATA
# title: Record the recommendation, execute nothing
# description: Holds for every state change below L4.
obligations contains "record_only" if {
	changes_state
	not may_execute
}

may_execute if input.level >= 4

# METADATA
# title: Ask a human first
# description: Holds for every state change from L4 on that may not run unattended.
obligations contains "require_approval" if {
	changes_state
	may_execute
	not unattended
}
