package soclab.gateway_test

irreversible := object.union(act, {"tool": {"effect": "irreversible"}})

cleared := {"arguments": {"verdict": "false_positive"}}

test_evidence[name] if {
	some name, case in {
		"one piece": {"base": act, "change": {}, "expected": []},
		"none": {"base": act, "change": {"evidence": []}, "expected": ["insufficient_evidence"]},
		"irreversible on two pieces of two kinds": {
			"base": irreversible,
			"change": {"evidence": [sign_in, account]},
			"expected": [],
		},
		"irreversible on two pieces of one kind": {
			"base": irreversible,
			"change": {"evidence": [sign_in, sign_in_again]},
			"expected": ["insufficient_evidence"],
		},
		"irreversible on one piece cited twice": {
			"base": irreversible,
			"change": {"evidence": [sign_in, sign_in]},
			"expected": ["insufficient_evidence"],
		},
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
		"an open verdict": {"base": note, "change": {}, "expected": []},
		"cleared on one piece": {"base": note, "change": cleared, "expected": ["unsupported_conclusion"]},
		"cleared on two kinds": {
			"base": note,
			"change": object.union(cleared, {"evidence": [sign_in, account]}),
			"expected": [],
		},
		"a verdict that nobody listed": {
			"base": note,
			"change": {"arguments": {"verdict": "harmless"}},
			"expected": ["unsupported_conclusion"],
		},
		"an accusation": {
			"base": note,
			"change": {"arguments": {"accused": ["dana.fox"]}},
			"expected": ["unsupported_conclusion"],
		},
		"closing as benign on one piece": {
			"base": act,
			"change": {"arguments": {"resolution": "benign"}},
			"expected": ["unsupported_conclusion"],
		},
		"searching for a verdict": {"base": read, "change": cleared, "expected": []},
	}
	reasons(case.base, case.change) == case.expected
}
