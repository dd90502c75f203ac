# Inputs for the tests: one allowed call of each sort, to which every test changes one thing.
package soclab.gateway_test

import data.soclab.gateway

budget := {"used": 3, "limit": 40}

target := {
	"argument": "user",
	"type": "account",
	"value": "alex.rivera",
	"scoped": true,
	"changes": true,
	"alerted": true,
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

seen_sign_in := naming(sign_in, ["alex.rivera", "identity-compromise"])

seen_account := naming(account, ["alex.rivera", "identity-compromise"])

ticket := naming(
	{"id": "ev-5", "tool": "cases.get_ticket", "kind": "ticket_record", "incident": "identity-compromise"},
	["alex.rivera", "identity-compromise"],
)

mail := naming(
	{"id": "ev-6", "tool": "mail.get_message", "kind": "mail_record", "incident": "identity-compromise"},
	["alex.rivera", "msg-1"],
)

naming(piece, names) := object.union(piece, {"names": names})

seen(pieces) := {"grounds": {"cited": [], "seen": pieces}}

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
	"grounds": {"cited": [seen_sign_in], "seen": [seen_sign_in]},
	"people": {"accused": [], "affected": [], "cleared": [], "mentioned": [], "without_role": []},
	"budgets": {"calls": budget, "cost": budget, "seconds": budget, "changes": budget},
	"grants": [],
	"history": {"refusals": 2, "addresses": 512, "recipients": 5},
	"leaving": {
		"outside": false,
		"secrets": [],
		"internal_names": [],
		"recipients": [],
		"allowed_recipients": ["ciso@example.org", "example.com"],
		"unseen": [],
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
	"arguments": {"case": "identity-compromise", "summary": "A stolen session.", "verdict": "true_positive", "accused": []},
	"targets": [object.union(target, {"argument": "case", "type": "case", "value": "identity-compromise"})],
})

reasons(base, change) := answer.reasons if {
	answer := gateway.decision with input as object.union(base, change)
}

obligations(base, change) := answer.obligations if {
	answer := gateway.decision with input as object.union(base, change)
}

# An allowed call on several targets of the type and with the fields given, all seen in the sign-ins.
onto(changes) := object.union(
	{"targets": [object.union(target, change) | some change in changes]},
	seen([naming(sign_in, [value | some change in changes; value := object.get(change, "value", "alex.rivera")])]),
)

on(change) := {"targets": [object.union(target, change)]}
