package soclab.gateway_test

irreversible := object.union(act, {"tool": {"effect": "irreversible"}})

verdict(value) := {"arguments": {"verdict": value}}

people(change) := {"people": change}

killing := object.union(act, {"targets": [
	target,
	object.union(target, {"argument": "host", "type": "host", "value": "wks-1", "changes": false}),
]})

merging := object.union(act, {
	"tool": {"change": "ticket_merged"},
	"targets": [object.union(target, {"type": "ticket", "value": "T-1"})],
})

both := seen([seen_sign_in, seen_account])

test_evidence[name] if {
	some name, case in {
		"one piece": {"base": act, "change": {}, "expected": []},
		"seen and not cited": {"base": act, "change": seen([seen_sign_in]), "expected": []},
		"cited and not seen": {
			"base": act,
			"change": {"grounds": {"cited": [seen_sign_in], "seen": []}},
			"expected": ["insufficient_evidence"],
		},
		"none": {"base": act, "change": seen([]), "expected": ["insufficient_evidence"]},
		"of somebody else": {
			"base": act,
			"change": seen([naming(sign_in, ["dana.fox"])]),
			"expected": ["insufficient_evidence"],
		},
		"another incident's": {
			"base": act,
			"change": seen([object.union(seen_sign_in, {"incident": "leaked-cloud-key"})]),
			"expected": ["insufficient_evidence"],
		},
		"a ticket alone": {"base": act, "change": seen([ticket]), "expected": ["insufficient_evidence"]},
		"a ticket beside a record": {"base": act, "change": seen([ticket, seen_sign_in]), "expected": []},
		"a mail about somebody": {"base": act, "change": seen([mail]), "expected": ["insufficient_evidence"]},
		"a mail about itself": {
			"base": act,
			"change": object.union(seen([mail]), on({"type": "message", "value": "msg-1"})),
			"expected": [],
		},
		"two targets, one named": {
			"base": act,
			"change": {"targets": [target, object.union(target, {"value": "dana.fox"})]},
			"expected": ["insufficient_evidence"],
		},
		"a recipient, whom no record names": {
			"base": act,
			"change": on({"type": "recipient", "value": "ciso@example.org"}),
			"expected": [],
		},
		"a recipient on nothing": {
			"base": act,
			"change": object.union(seen([]), on({"type": "recipient", "value": "ciso@example.org"})),
			"expected": ["insufficient_evidence"],
		},
		"irreversible on two pieces of two kinds": {"base": irreversible, "change": both, "expected": []},
		"irreversible on a record and a ticket": {
			"base": irreversible,
			"change": seen([seen_sign_in, ticket]),
			"expected": [],
		},
		"irreversible on two pieces of one kind": {
			"base": irreversible,
			"change": seen([seen_sign_in, naming(sign_in_again, ["alex.rivera"])]),
			"expected": ["insufficient_evidence"],
		},
		"irreversible on what is mostly about others": {
			"base": irreversible,
			"change": seen([seen_sign_in, naming(account, ["dana.fox"])]),
			"expected": ["insufficient_evidence"],
		},
		"a place that was seen once": {
			"base": killing,
			"change": {
				"tool": {"effect": "irreversible"},
				"grounds": {"cited": [], "seen": [naming(sign_in, ["alex.rivera", "wks-1"]), seen_account]},
			},
			"expected": [],
		},
		"a place that was not seen": {"base": killing, "change": {}, "expected": ["insufficient_evidence"]},
		"an effect that no threshold knows": {
			"base": act,
			"change": {"tool": {"effect": "read"}},
			"expected": ["insufficient_evidence"],
		},
		"evidence that nobody saw": {
			"base": act,
			"change": {"unknown_evidence": ["evt-999"]},
			"expected": ["unverified_evidence"],
		},
		"evidence of another incident": {
			"base": act,
			"change": {"evidence": [sign_in, object.union(account, {"incident": "leaked-cloud-key"})]},
			"expected": ["foreign_evidence"],
		},
	}
	reasons(case.base, case.change) == case.expected
}

test_conclusions[name] if {
	some name, case in {
		"an open verdict": {"base": note, "change": {}, "expected": []},
		"cleared on one piece": {
			"base": note,
			"change": verdict("false_positive"),
			"expected": ["unsupported_conclusion"],
		},
		"cleared on two kinds": {
			"base": note,
			"change": object.union(verdict("false_positive"), both),
			"expected": [],
		},
		"cleared on two kinds, one about another": {
			"base": note,
			"change": object.union(verdict("benign"), seen([seen_sign_in, naming(account, ["dana.fox"])])),
			"expected": ["unsupported_conclusion"],
		},
		"cleared on a record and a ticket": {
			"base": note,
			"change": object.union(verdict("benign"), seen([seen_sign_in, ticket])),
			"expected": ["unsupported_conclusion"],
		},
		"a verdict on nothing": {
			"base": note,
			"change": object.union(verdict("benign"), object.union(both, {"targets": []})),
			"expected": ["unsupported_conclusion"],
		},
		"a verdict that nobody listed": {
			"base": note,
			"change": verdict("harmless"),
			"expected": ["unsupported_conclusion"],
		},
		"an accusation on one piece": {
			"base": note,
			"change": people({"accused": ["alex.rivera"]}),
			"expected": ["unsupported_conclusion"],
		},
		"an accusation on two kinds": {
			"base": note,
			"change": object.union(people({"accused": ["alex.rivera"]}), both),
			"expected": [],
		},
		"an accusation on two kinds about another": {
			"base": note,
			"change": object.union(people({"accused": ["dana.fox"]}), both),
			"expected": ["unsupported_conclusion"],
		},
		"clearing somebody on one piece": {
			"base": note,
			"change": people({"cleared": ["alex.rivera"]}),
			"expected": ["unsupported_conclusion"],
		},
		"mentioning somebody": {
			"base": note,
			"change": people({"mentioned": ["dana.fox"], "affected": ["alex.rivera"]}),
			"expected": [],
		},
		"closing a ticket as a duplicate": {
			"base": object.union(merging, {"tool": {"change": "ticket_closed"}}),
			"change": object.union({"arguments": {"resolution": "duplicate"}}, onto([{"type": "ticket", "value": "T-1"}])),
			"expected": ["unsupported_conclusion"],
		},
		"merging a ticket away on one kind": {
			"base": merging,
			"change": seen([naming(sign_in, ["T-1"])]),
			"expected": ["unsupported_conclusion"],
		},
		"merging a ticket away on two kinds": {
			"base": merging,
			"change": seen([naming(sign_in, ["T-1"]), naming(account, ["T-1"])]),
			"expected": [],
		},
		"searching for a verdict": {"base": read, "change": verdict("false_positive"), "expected": []},
	}
	reasons(case.base, case.change) == case.expected
}

people_of(accused, cleared) := {"accused": accused, "affected": [], "cleared": cleared, "mentioned": [], "without_role": []}

test_conclusions_about_people_and_records[name] if {
	some name, case in {
		"an accused whom evidence names that does not name the case": {
			"change": object.union(
				seen([naming(sign_in, ["alex.rivera"]), naming(account, ["alex.rivera"])]),
				{"people": people_of(["alex.rivera"], [])},
			),
			"expected": [],
		},
		"a record with evidence beside a target that is none": {
			"change": object.union(both, {
				"arguments": {"verdict": "false_positive"},
				"targets": [note.targets[0], object.union(target, {"value": "dana.fox"})],
			}),
			"expected": [],
		},
		"a verdict with evidence, and nobody knows who is meant": {
			"change": object.union(both, {"arguments": {"verdict": "false_positive"}, "people": null}),
			"expected": ["account_without_role", "unsupported_conclusion"],
		},
	}
	reasons(note, case.change) == case.expected
}
