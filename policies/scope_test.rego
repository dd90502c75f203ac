package soclab.gateway_test

window := {"start": 1772444000, "end": 1772445000}

test_scope[name] if {
	some name, case in {
		"in scope": {"base": act, "change": {}, "expected": []},
		"out of scope": {"base": act, "change": on({"in_scope": false}), "expected": ["entity_scope"]},
		"out of scope, but any value is legitimate": {
			"base": act,
			"change": on({"in_scope": false, "scoped": false}),
			"expected": [],
		},
		"one of two out of scope": {
			"base": act,
			"change": onto([{}, {"value": "dana.fox", "in_scope": false}]),
			"expected": ["entity_scope"],
		},
		"a state change of nothing": {"base": act, "change": {"targets": []}, "expected": ["entity_scope"]},
		"a note about nothing": {"base": note, "change": {"targets": []}, "expected": []},
		"a note about something out of scope": {
			"base": note,
			"change": on({"in_scope": false}),
			"expected": ["entity_scope"],
		},
		"reading something out of scope": {"base": read, "change": on({"in_scope": false}), "expected": []},
		"reading another incident's ticket": {
			"base": read,
			"change": on({"type": "ticket", "in_scope": false}),
			"expected": ["incident_scope"],
		},
		"a note on another incident's case": {
			"base": note,
			"change": on({"type": "case", "in_scope": false}),
			"expected": ["incident_scope"],
		},
		"a case beside an unscoped name out of scope": {
			"base": note,
			"change": {"targets": [
				object.union(target, {"type": "case"}),
				object.union(target, {"in_scope": false, "scoped": false}),
			]},
			"expected": [],
		},
		"a lookalike": {
			"base": read,
			"change": on({"value": "аlex.rivera", "ascii": false, "in_scope": false, "declared": false}),
			"expected": ["non_ascii_target"],
		},
		"a non-ASCII name in scope": {"base": act, "change": onto([{"value": "zoë.müller", "ascii": false}]), "expected": []},
		"a declared non-ASCII name": {
			"base": read,
			"change": on({"value": "zoë.müller", "ascii": false, "in_scope": false}),
			"expected": [],
		},
		"a plain name beside a declared non-ASCII name": {
			"base": read,
			"change": {"targets": [
				object.union(target, {"in_scope": false, "declared": false}),
				object.union(target, {"value": "zoë.müller", "ascii": false, "in_scope": false}),
			]},
			"expected": [],
		},
		"a non-ASCII text that is no name": {
			"base": read,
			"change": on({"ascii": false, "in_scope": false, "declared": false, "scoped": false}),
			"expected": [],
		},
		"a protected asset": {"base": act, "change": on({"protected": true}), "expected": ["protected_asset"]},
		"reading a protected asset": {"base": read, "change": on({"protected": true}), "expected": []},
		"a note on a protected asset": {"base": note, "change": on({"protected": true}), "expected": []},
		"no assets declared": {
			"base": act,
			"change": {"incident": {"assets_declared": false}},
			"expected": ["protected_asset"],
		},
		"in maintenance": {"base": act, "change": on({"maintenance": [window]}), "expected": ["maintenance_window"]},
		"at the window's last second": {
			"base": act,
			"change": object.union(on({"maintenance": [window]}), {"now": 1772445000}),
			"expected": ["maintenance_window"],
		},
		"after maintenance": {
			"base": act,
			"change": object.union(on({"maintenance": [window]}), {"now": 1772445001}),
			"expected": [],
		},
		"before maintenance": {
			"base": act,
			"change": object.union(on({"maintenance": [window]}), {"now": 1772443999}),
			"expected": [],
		},
		"reading in maintenance": {"base": read, "change": on({"maintenance": [window]}), "expected": []},
		"as many targets as allowed": {"base": act, "change": {"targets": [target | some _ in numbers.range(1, 5)]}, "expected": []},
		"too many targets": {
			"base": act,
			"change": {"targets": [target | some _ in numbers.range(1, 6)]},
			"expected": ["blast_radius"],
		},
		"a network of 256": {"base": act, "change": on({"size": 256}), "expected": []},
		"addresses one over the sum": {
			"base": act,
			"change": {"history": {"addresses": 513}},
			"expected": ["blast_radius"],
		},
		"recipients one over the sum": {
			"base": act,
			"change": {"history": {"recipients": 6}},
			"expected": ["blast_radius"],
		},
		"a network of 257": {"base": act, "change": on({"size": 257}), "expected": ["blast_radius"]},
		"a telemetry host": {"base": act, "change": on({"roles": ["telemetry"]}), "expected": ["self_blinding"]},
		"stopping a sensor": {
			"base": act,
			"change": {"tool": {"change": "sensor_stopped"}},
			"expected": ["self_blinding"],
		},
		"enabling a detection": {
			"base": act,
			"change": object.union(on({"type": "detection", "roles": ["detection"]}), {"tool": {"change": "detection_enabled"}}),
			"expected": [],
		},
		"the last administrator": {"base": act, "change": on({"last_of": ["idp_admin"]}), "expected": ["last_administrator"]},
		"the last holder of some role": {"base": act, "change": on({"last_of": ["printing"]}), "expected": []},
	}
	reasons(case.base, case.change) == case.expected
}

test_targets_of_several_sorts[name] if {
	some name, case in {
		"a ticket in scope beside an account out of scope": {
			"base": act,
			"change": onto([{"type": "ticket", "value": "T-1"}, {"in_scope": false}]),
			"expected": ["entity_scope"],
		},
		"an account in scope beside an address that is in no scope": {
			"base": act,
			"change": onto([{}, {"type": "address", "value": "192.0.2.7", "in_scope": false, "scoped": false}]),
			"expected": [],
		},
		"a plain name beside a declared one with an umlaut": {
			"base": act,
			"change": onto([{}, {"value": "jürgen", "ascii": false}]),
			"expected": [],
		},
		"a plain name out of scope beside a declared one with an umlaut": {
			"base": read,
			"change": onto([{"in_scope": false, "declared": false}, {"value": "jürgen", "ascii": false}]),
			"expected": [],
		},
	}
	reasons(case.base, case.change) == case.expected
}

test_records_that_belong_to_no_case if {
	reasons(read, on({"type": "ticket", "in_scope": false, "scoped": false})) == []
}

test_names_that_are_genuine[name] if {
	some name, change in {
		"in scope": {"ascii": false, "declared": false},
		"declared": {"ascii": false, "in_scope": false},
		"of no scope": {"ascii": false, "declared": false, "in_scope": false, "scoped": false},
		"plain": {"declared": false, "in_scope": false},
	}
	reasons(read, on(change)) == []
	reasons(read, on({"ascii": false, "declared": false, "in_scope": false})) == ["non_ascii_target"]
}

test_a_window_begins_with_its_first_second if {
	reasons(act, on({"maintenance": [{"start": act.now, "end": act.now + 60}]})) == ["maintenance_window"]
	reasons(act, on({"maintenance": [{"start": act.now + 1, "end": act.now + 60}]})) == []
	reasons(act, on({"maintenance": [{"start": act.now - 60, "end": act.now}]})) == ["maintenance_window"]
	reasons(act, on({"maintenance": [{"start": act.now - 60, "end": act.now - 1}]})) == []
}

test_reading_touches_nothing[name] if {
	some name, change in {
		"in maintenance": {"maintenance": [window]},
		"a large network": {"size": 65536},
		"what watches": {"roles": ["sensor"]},
		"the last administrator": {"last_of": ["idp_admin"]},
		"something protected": {"protected": true},
	}
	reasons(read, on(change)) == []
}
