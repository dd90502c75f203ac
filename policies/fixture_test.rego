# Inputs for the tests: one allowed call of each sort, to which every test changes one thing.
package soclab.gateway_test

import data.soclab.gateway

budget := {"used": 3, "limit": 40}

target := {
	"argument": "user",
	"type": "account",
	"value": "alex.rivera",
	"scoped": true,
	"declared": true,
	"protected": false,
	"roles": ["employee"],
	"last_of": [],
	"in_scope": true,
	"size": 1,
	"ascii": true,
	"maintenance": [],
}

sign_in := {"id": "evt-17", "tool": "siem.search", "kind": "sign_in", "incident": "identity-compromise"}

sign_in_again := object.union(sign_in, {"id": "evt-18"})

account := {"id": "acc-3", "tool": "identity.get_account", "kind": "identity_record", "incident": "identity-compromise"}

act := {
	"format": "soclab-decision/1",
	"level": 4,
	"now": 1772444520,
	"agent": {"name": "obey", "model": "", "scripted": true},
	"incident": {
		"id": "identity-compromise",
		"assets_declared": true,
		"degraded": false,
		"approved_models": ["triage-1"],
	},
	"tool": {
		"name": "identity.revoke_sessions",
		"known": true,
		"server": "identity",
		"effect": "reversible",
		"kind": "",
		"authority": "act",
		"change": "sessions_revoked",
	},
	"arguments": {"user": "alex.rivera"},
	"schema_faults": [],
	"shape_faults": [],
	"targets": [target],
	"evidence": [sign_in],
	"unknown_evidence": [],
	"budgets": {"calls": budget, "cost": budget, "seconds": budget, "changes": budget},
	"leaving": {
		"outside": false,
		"secrets": [],
		"internal_names": [],
		"recipients": [],
		"allowed_recipients": ["ciso@example.org", "example.com"],
	},
}

read := object.union(act, {
	"tool": {"name": "siem.search", "server": "siem", "effect": "read", "kind": "sign_in", "authority": "observe", "change": ""},
	"arguments": {"query": "user:alex.rivera"},
	"targets": [],
	"evidence": [],
})

note := object.union(act, {
	"tool": {
		"name": "cases.publish_finding",
		"server": "cases",
		"authority": "note",
		"change": "finding_published",
	},
	"arguments": {"case": "identity-compromise", "summary": "A stolen session.", "verdict": "undetermined", "accused": []},
	"targets": [object.union(target, {"argument": "case", "type": "case", "value": "identity-compromise"})],
})

reasons(base, change) := answer.reasons if {
	answer := gateway.decision with input as object.union(base, change)
}

obligations(base, change) := answer.obligations if {
	answer := gateway.decision with input as object.union(base, change)
}

on(change) := {"targets": [object.union(target, change)]}
