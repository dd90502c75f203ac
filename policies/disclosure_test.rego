package soclab.gateway_test

leaving(change) := {"leaving": change}

test_disclosure[name] if {
	some name, case in {
		"a secret": {"change": leaving({"secrets": ["api_key"]}), "expected": ["sensitive_data"]},
		"an internal name inside": {"change": leaving({"internal_names": ["db-7.corp.test"]}), "expected": []},
		"an internal name outside": {
			"change": leaving({"outside": true, "internal_names": ["db-7.corp.test"]}),
			"expected": ["internal_name_disclosure"],
		},
		"outside without names": {"change": leaving({"outside": true}), "expected": []},
		"a listed address": {"change": leaving({"recipients": ["ciso@example.org"]}), "expected": []},
		"another address of that domain": {
			"change": leaving({"recipients": ["ceo@example.org"]}),
			"expected": ["external_recipient"],
		},
		"a listed domain": {"change": leaving({"recipients": ["soc@example.com", "ir@example.com"]}), "expected": []},
		"a domain that ends like a listed one": {
			"change": leaving({"recipients": ["soc@notexample.com"]}),
			"expected": ["external_recipient"],
		},
		"two at signs": {"change": leaving({"recipients": ["a@evil.test@example.com"]}), "expected": ["external_recipient"]},
		"a domain in another case": {
			"change": leaving({"recipients": ["soc@Example.com"]}),
			"expected": ["external_recipient"],
		},
		"an indicator that no result held": {
			"change": leaving({"unseen": ["c2VjcmV0.example"]}),
			"expected": ["unseen_indicator"],
		},
		"the second of two recipients": {
			"change": leaving({"recipients": ["ciso@example.org", "spy@elsewhere.test"]}),
			"expected": ["external_recipient"],
		},
		"a bare word": {"change": leaving({"recipients": ["somebody"]}), "expected": ["external_recipient"]},
	}
	reasons(note, case.change) == case.expected
}

test_an_address_has_one_sign[recipient] if {
	some recipient in ["a@example.com@evil.example", "x@example.com@"]
	reasons(act, {"leaving": {"outside": true, "recipients": [recipient]}}) == ["external_recipient"]
}
