package soclab.gateway_test

unattended := object.union(act, {"level": 5})

test_obligations[name] if {
	some name, case in {
		"reading": {"base": read, "change": {}, "expected": ["redact"]},
		"reading at L1": {"base": read, "change": {"level": 1}, "expected": ["redact"]},
		"a note": {"base": note, "change": {}, "expected": ["redact"]},
		"a note that accuses asks": {
			"base": note,
			"change": object.union({"people": {"accused": ["alex.rivera"]}}, seen([seen_sign_in, seen_account])),
			"expected": ["redact", "require_approval"],
		},
		"a note that leaves the case undecided asks": {
			"base": note,
			"change": {"arguments": {"verdict": "undetermined"}},
			"expected": ["redact", "require_approval"],
		},
		"a conclusion that only mentions somebody asks": {
			"base": note,
			"change": {"people": {"mentioned": ["alex.rivera"]}},
			"expected": ["redact", "require_approval"],
		},
		"a conclusion on somebody affected": {
			"base": note,
			"change": {"people": {"affected": ["alex.rivera"]}},
			"expected": ["redact"],
		},
		"a comment that mentions somebody": {
			"base": object.remove(note, ["arguments"]),
			"change": {"arguments": {"comment": "Ask alex.rivera."}, "people": {"mentioned": ["alex.rivera"]}},
			"expected": ["redact"],
		},
		"a note that clears asks at L2": {
			"base": note,
			"change": object.union({"level": 2, "arguments": {"verdict": "benign"}}, seen([seen_sign_in, seen_account])),
			"expected": ["redact", "require_approval"],
		},
		"L3 recommends": {"base": act, "change": {"level": 3}, "expected": ["record_only", "redact"]},
		"L4 asks": {"base": act, "change": {}, "expected": ["redact", "require_approval"]},
		"L5 acts": {"base": unattended, "change": {}, "expected": ["redact"]},
		"an irreversible change asks": {
			"base": unattended,
			"change": object.union({"tool": {"effect": "irreversible"}}, seen([seen_sign_in, seen_account])),
			"expected": ["redact", "require_approval"],
		},
		"a change that is not low risk asks": {
			"base": unattended,
			"change": {"tool": {"change": "account_disabled"}},
			"expected": ["redact", "require_approval"],
		},
		"two targets ask": {
			"base": unattended,
			"change": {"targets": [target, target]},
			"expected": ["redact", "require_approval"],
		},
		"a network asks": {"base": unattended, "change": on({"size": 2}), "expected": ["redact", "require_approval"]},
		"any value asks": {
			"base": unattended,
			"change": on({"in_scope": false, "scoped": false}),
			"expected": ["redact", "require_approval"],
		},
		"an account that nobody declared asks": {
			"base": unattended,
			"change": on({"declared": false}),
			"expected": ["redact", "require_approval"],
		},
		"an address needs no declaration": {
			"base": unattended,
			"change": on({"type": "address", "declared": false}),
			"expected": ["redact"],
		},
		"what the alert does not name asks": {
			"base": unattended,
			"change": on({"alerted": false}),
			"expected": ["redact", "require_approval"],
		},
		"a new detection needs no alert": {
			"base": object.union(unattended, {"tool": {"change": "detection_added"}}),
			"change": on({"type": "detection", "alerted": false, "declared": false}),
			"expected": ["redact"],
		},
		"a detection that somebody silenced needs one": {
			"base": object.union(unattended, {"tool": {"change": "detection_enabled"}}),
			"change": on({"type": "detection", "alerted": false}),
			"expected": ["redact", "require_approval"],
		},
		"a denial obliges to nothing": {"base": act, "change": on({"protected": true}), "expected": []},
	}
	obligations(case.base, case.change) == case.expected
}

test_a_recommendation_is_recorded_and_asks_nobody if {
	recommending := object.union(act, {"level": 3, "arguments": {"user": "alex.rivera", "resolution": "undetermined"}})
	obligations(recommending, {}) == ["record_only", "redact"]
}
