# What a trial may use up. The call asked about is counted in.
package soclab.gateway

# METADATA
# title: Too many calls
# description: Denies a call beyond the trial's number of calls.
reasons contains "call_budget" if not within.calls

# METADATA
# title: Too much cost
# description: Denies a call beyond the trial's cost units.
reasons contains "cost_budget" if not within.cost

# METADATA
# title: Too much time
# description: Denies a call beyond the trial's simulated seconds.
reasons contains "time_budget" if not within.seconds

# METADATA
# title: Too many state changes
# description: Denies a state change beyond the trial's number of changes.
reasons contains "change_budget" if {
	changes_state
	not within.changes
}

# METADATA
# title: A human refused too often
# description: Denies a state change after so many refused requests; who goes on asking waits for a tired human.
reasons contains "refusal_budget" if {
	changes_state
	not seldom_refused
}

seldom_refused if input.history.refusals < settings.refusals

within contains name if {
	some name, budget in input.budgets
	budget.used <= budget.limit
}
