package soclab.gateway_test

test_authorization[name] if {
	some name, case in {
		"a declared tool": {"base": read, "change": {}, "expected": []},
		"an unknown tool denies whatever else": {
			"base": read,
			"change": {"tool": {"known": false, "effect": "", "authority": ""}, "targets": [target]},
			"expected": ["authority_level", "insufficient_evidence", "unknown_tool"],
		},
		"a schema fault": {
			"base": read,
			"change": {"schema_faults": ["query: missing"]},
			"expected": ["argument_schema"],
		},
		"a shape fault": {
			"base": read,
			"change": {"shape_faults": ["query: nested"]},
			"expected": ["argument_shape"],
		},
		"a policy that allows something": {
			"base": act,
			"change": {"grants": ["storage:GetObject"]},
			"expected": ["privilege_granted"],
		},
		"an approved model": {
			"base": read,
			"change": {"agent": {"model": "triage-1", "scripted": false}},
			"expected": [],
		},
		"another model": {
			"base": read,
			"change": {"agent": {"model": "triage-2", "scripted": false}},
			"expected": ["unapproved_model"],
		},
		"another model behind a script": {
			"base": read,
			"change": {"agent": {"model": "triage-2"}},
			"expected": ["unapproved_model"],
		},
		"no model and no script": {
			"base": read,
			"change": {"agent": {"scripted": false}},
			"expected": ["unapproved_model"],
		},
		"reading at L1": {"base": read, "change": {"level": 1}, "expected": []},
		"a note at L1": {"base": note, "change": {"level": 1}, "expected": ["authority_level"]},
		"a note at L2": {"base": note, "change": {"level": 2}, "expected": []},
		"a state change at L2": {"base": act, "change": {"level": 2}, "expected": ["authority_level"]},
		"a state change at L3": {"base": act, "change": {"level": 3}, "expected": []},
		"an authority nobody knows": {
			"base": act,
			"change": {"tool": {"authority": "root"}},
			"expected": ["authority_level"],
		},
	}
	reasons(case.base, case.change) == case.expected
}
