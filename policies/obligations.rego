# What the gateway must do with an allowed call: redact what is read, record a recommendation, ask a human first.
package soclab.gateway

# METADATA
# title: Redact what the agent is handed
# description: Holds for every call, for the answer to a change shows records too.
obligations contains "redact"

# METADATA
# title: Record the recommendation, execute nothing
# description: Holds for every state change below L4.
obligations contains "record_only" if {
	changes_state
	not may_execute
}

may_execute if input.level >= 4

# METADATA
# title: Ask a human before a conclusion is published
# description: >-
#   Holds at every level for a note that clears or accuses somebody or puts a case away, that leaves a case undecided, or
#   that concludes and names somebody without saying what that account is to the case.
obligations contains "require_approval" if {
	takes_notes
	not conclusion_unread
}

conclusion_unread if {
	conclusion_cautious
	every value in stated { value in settings.conclusions.unread }
	nobody_hinted_at
}

nobody_hinted_at if count(stated) == 0

nobody_hinted_at if count(input.people.mentioned) == 0

# METADATA
# title: Ask a human first
# description: Holds for every state change from L4 on that may not run unattended.
obligations contains "require_approval" if {
	changes_state
	may_execute
	not unattended
}
