package soclab.gateway_test

import data.soclab.gateway

test_allow if {
	gateway.decision == {"outcome": "allow", "reasons": [], "obligations": ["redact"]} with input as read
}

test_deny_with_every_reason if {
	gateway.decision == {
		"outcome": "deny",
		"reasons": ["authority_level", "entity_scope", "protected_asset"],
		"obligations": [],
	} with input as object.union(object.union(act, {"level": 1}), on({"protected": true, "in_scope": false}))
}

# Whatever is missing denies: nothing is proved about it.
test_empty_input if {
	answer := gateway.decision with input as {}
	answer.outcome == "deny"
}

test_missing_field[field] if {
	some field in [
		"level", "agent", "incident", "tool", "schema_faults", "shape_faults", "targets", "evidence", "unknown_evidence",
		"budgets", "leaving", "grounds", "people", "history",
	]
	answer := gateway.decision with input as object.remove(act, [field])
	answer.outcome == "deny"
}

# Whoever calls a tool "observe" that changes something does not get past the rules for changes.
test_only_what_reads_observes if {
	reasons(read, {"tool": {"effect": "reversible"}, "incident": {"degraded": true}}) == [
		"degraded_mode",
		"entity_scope",
	]
}
