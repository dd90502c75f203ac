# Every element of every list in data.yaml does what it is listed for, and what is not listed does not.
package soclab.gateway_test

alone_at_five := object.union(act, {"level": 5})

doing(change) := {"tool": {"change": change}}

asks_a_human(base, change) if "require_approval" in obligations(base, change)

test_what_may_run_unattended[change] if {
	some change in [
		"sessions_revoked", "host_isolated", "file_quarantined", "address_blocked", "domain_blocked",
		"message_quarantined", "detection_added", "detection_enabled",
	]
	not asks_a_human(alone_at_five, doing(change))
}

test_what_never_runs_unattended[change] if {
	some change in [
		"account_disabled", "account_enabled", "address_unblocked", "comment_added", "file_deleted", "finding_published",
		"host_released", "instance_stopped", "instance_terminated", "key_activated", "key_deactivated", "key_deleted",
		"mail_rule_removed", "mail_sent", "message_deleted", "mfa_removed", "password_reset", "policy_attached",
		"policy_detached", "process_killed", "public_access_blocked", "sample_submitted", "ticket_closed",
		"ticket_created",
	]
	asks_a_human(alone_at_five, doing(change))
}

# What blinds the SOC is denied, and a merged ticket is a conclusion: where it may be done at all, a human is asked.
test_what_is_denied_runs_less_than_unattended[change] if {
	some change in ["sensor_stopped", "detection_disabled", "detection_deleted"]
	not change in data.soclab.settings.unattended.changes
	reasons(alone_at_five, doing(change)) == ["self_blinding"]
}

test_a_merged_ticket_asks if {
	not "ticket_merged" in data.soclab.settings.unattended.changes
	asks_a_human(object.union(merging, {"level": 5}), mergeable)
}

mergeable := seen([naming(sign_in, ["T-1"]), naming(account, ["T-1"])])

test_what_nobody_described_asks[type] if {
	some type in ["account", "host", "instance", "mailbox", "bucket", "key"]
	asks_a_human(alone_at_five, on({"type": type, "declared": false}))
	not asks_a_human(alone_at_five, on({"type": type}))
}

test_what_need_not_be_described if not asks_a_human(alone_at_five, on({"type": "address", "declared": false}))

test_what_the_alert_does_not_name[name] if {
	some name, case in {
		"a new detection": {"change": {"type": "detection", "alerted": false, "declared": false}, "asks": false},
		"a detection that exists": {"change": {"type": "detection", "alerted": false}, "asks": true},
		"a new address": {"change": {"type": "address", "alerted": false, "declared": false}, "asks": true},
	}
	asked := {true | asks_a_human(alone_at_five, on(case.change))}
	asked == {true | case.asks}
}

test_where_a_conclusion_stands[name] if {
	some name in ["verdict", "disposition", "resolution"]
	reasons(note, {"arguments": {name: "false_positive", "verdict": "false_positive"}}) == ["unsupported_conclusion"]
	reasons(bare, {"arguments": {name: "false_positive"}}) == ["unsupported_conclusion"]
}

# A note without a verdict of its own.
bare := json.remove(note, ["arguments/verdict"])

test_values_that_clear_nobody[value] if {
	some value in [
		"", "undetermined", "inconclusive", "unknown", "open", "in_progress", "escalated", "suspicious", "malicious",
		"true_positive",
	]
	reasons(note, verdict(value)) == []
}

test_values_that_conclude[value] if {
	some value in ["benign", "false_positive", "closed", "resolved", "duplicate", "Open", "true positive"]
	reasons(note, verdict(value)) == ["unsupported_conclusion"]
}

test_values_that_nobody_reads_first[value] if {
	some value in ["", "open", "in_progress", "escalated", "suspicious", "malicious", "true_positive"]
	not asks_a_human(note, verdict(value))
}

test_values_that_leave_a_case_undecided[value] if {
	some value in ["undetermined", "inconclusive", "unknown"]
	asks_a_human(note, verdict(value))
}

test_roles_that_watch[role] if {
	some role in ["telemetry", "soc", "detection", "sensor", "logging"]
	reasons(act, on({"roles": [role]})) == ["self_blinding"]
}

test_changes_that_blind[change] if {
	some change in [
		"sensor_stopped", "sensor_removed", "logging_disabled", "log_deleted", "trail_stopped", "detection_disabled",
		"detection_deleted",
	]
	reasons(act, doing(change)) == ["self_blinding"]
}

test_changes_that_restore_sight[change] if {
	some change in ["detection_added", "detection_enabled", "sensor_started", "logging_enabled"]
	reasons(act, object.union(doing(change), on({"roles": ["sensor"]}))) == []
}

test_last_holders[role] if {
	some role in ["idp_admin", "break_glass"]
	reasons(act, on({"last_of": [role]})) == ["last_administrator"]
}

test_testimony_counts_never_alone[kind] if {
	some kind in ["ticket_record", "mail_record", "indicator_report", "agent_note", "tool_description"]
	reasons(act, seen([object.union(seen_sign_in, {"kind": kind})])) == ["insufficient_evidence"]
}

test_a_mail_is_a_record_of[type] if {
	some type in ["message", "mailbox", "rule"]
	reasons(act, object.union(seen([mail]), on({"type": type, "value": "msg-1"}))) == []
}

test_two_testimonies_are_no_record if {
	reasons(irreversible, seen([ticket, mail])) == ["insufficient_evidence"]
}

test_a_place_may_be_seen_in_testimony_alone if {
	reasons(killing, seen([seen_sign_in, object.union(ticket, {"names": ["wks-1"]})])) == []
}

test_a_target_that_nothing_names_yet[type] if {
	some type in ["recipient", "detection"]
	reasons(act, object.union(seen([naming(sign_in, [])]), on({"type": type, "value": "new"}))) == []
	reasons(act, object.union(seen([naming(object.union(sign_in, {"kind": ""}), [])]), on({"type": type, "value": "new"}))) == [
		"insufficient_evidence",
	]
}

test_a_kind_of_evidence_may_be_short if {
	piece := naming(object.union(sign_in, {"kind": "k"}), [])
	reasons(act, object.union(seen([piece]), on({"type": "detection", "value": "new"}))) == []
}

test_least_levels[name] if {
	some name, case in {
		"reading": {"base": read, "least": 1},
		"a note": {"base": note, "least": 2},
		"a change": {"base": act, "least": 3},
	}
	reasons(case.base, {"level": case.least}) == []
	reasons(case.base, {"level": case.least - 1}) == ["authority_level"]
}
