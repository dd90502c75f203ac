package soclab.gateway_test

test_degraded[name] if {
	some name, case in {
		"a state change": {"base": act, "expected": ["degraded_mode"]},
		"reading": {"base": read, "expected": []},
		"a note": {"base": note, "expected": []},
	}
	reasons(case.base, {"incident": {"degraded": true}}) == case.expected
}
