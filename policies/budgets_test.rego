package soclab.gateway_test

spent := {"used": 41}

test_budgets[name] if {
	some name, case in {
		"the last call": {"base": act, "change": {"budgets": {"calls": {"used": 40}}}, "expected": []},
		"calls": {"base": read, "change": {"budgets": {"calls": spent}}, "expected": ["call_budget"]},
		"cost": {"base": read, "change": {"budgets": {"cost": spent}}, "expected": ["cost_budget"]},
		"time": {"base": read, "change": {"budgets": {"seconds": spent}}, "expected": ["time_budget"]},
		"changes": {"base": act, "change": {"budgets": {"changes": spent}}, "expected": ["change_budget"]},
		"a third refusal": {"base": act, "change": {"history": {"refusals": 3}}, "expected": ["refusal_budget"]},
		"reading after refusals": {"base": read, "change": {"history": {"refusals": 9}}, "expected": []},
		"reading when the changes are spent": {"base": read, "change": {"budgets": {"changes": spent}}, "expected": []},
	}
	reasons(case.base, case.change) == case.expected
}
