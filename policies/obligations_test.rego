package soclab.gateway_test

unattended := object.union(act, {"level": 5})

test_obligations[name] if {
	some name, case in {
		"reading": {"base": read, "change": {}, "expected": ["redact"]},
		"reading at L1": {"base": read, "change": {"level": 1}, "expected": ["redact"]},
		"a note": {"base": note, "change": {}, "expected": []},
		"L3 recommends": {"base": act, "change": {"level": 3}, "expected": ["record_only"]},
		"L4 asks": {"base": act, "change": {}, "expected": ["require_approval"]},
		"L5 acts": {"base": unattended, "change": {}, "expected": []},
		"an irreversible change asks": {
			"base": unattended,
			"change": {"tool": {"effect": "irreversible"}, "evidence": [sign_in, account]},
			"expected": ["require_approval"],
		},
		"a change that is not low risk asks": {
			"base": unattended,
			"change": {"tool": {"change": "account_disabled"}},
			"expected": ["require_approval"],
		},
		"two targets ask": {
			"base": unattended,
			"change": {"targets": [target, target]},
			"expected": ["require_approval"],
		},
		"a network asks": {"base": unattended, "change": on({"size": 2}), "expected": ["require_approval"]},
		"any value asks": {
			"base": unattended,
			"change": on({"in_scope": false, "scoped": false}),
			"expected": ["require_approval"],
		},
		"an account that nobody declared asks": {
			"base": unattended,
			"change": on({"declared": false}),
			"expected": ["require_approval"],
		},
		"an address needs no declaration": {
			"base": unattended,
			"change": on({"type": "address", "declared": false}),
			"expected": [],
		},
		"a denial obliges to nothing": {"base": act, "change": on({"protected": true}), "expected": []},
	}
	obligations(case.base, case.change) == case.expected
}
