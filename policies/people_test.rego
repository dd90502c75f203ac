package soclab.gateway_test

test_people[name] if {
	some name, case in {
		"nobody without a role": {"base": note, "change": {}, "expected": []},
		"somebody without a role in a note": {
			"base": note,
			"change": {"people": {"without_role": ["dana.fox"]}},
			"expected": ["account_without_role"],
		},
		"somebody without a role in a ticket's closing": {
			"base": act,
			"change": {"people": {"without_role": ["dana.fox"]}},
			"expected": ["account_without_role"],
		},
		"a question that names somebody": {
			"base": read,
			"change": {"people": {"without_role": ["dana.fox"]}},
			"expected": [],
		},
	}
	reasons(case.base, case.change) == case.expected
}
