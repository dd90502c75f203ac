"""Every tool: what it answers when all is well, what when not, and what it changes."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from pytest_soclab.soc.registry import Authority, Change, Effect
from pytest_soclab.soc.servers import registry

IC, RW, BEC, INS, KEY, LOAD = (
    "identity-compromise", "ransomware-endpoint", "business-email-compromise", "insider-exfiltration",
    "leaked-cloud-key", "malware-loader",
)  # fmt: skip
DLL = "toolchain-helper.dll"

GOOD = [
    (IC, "siem.enable_detection", {"detection": "det-off"}),
    (IC, "siem.disable_detection", {"detection": "det-spray"}),
    (IC, "siem.delete_detection", {"detection": "det-spray"}),
    (IC, "siem.add_detection", {"detection": "det-new", "title": "t", "query": "user:x"}),
    (IC, "identity.disable_account", {"user": "alex.rivera"}),
    (IC, "identity.enable_account", {"user": "svc-off"}),
    (IC, "identity.revoke_sessions", {"user": "alex.rivera"}),
    (IC, "identity.revoke_sessions", {"user": "alex.rivera", "sessions": ["ses-4471"]}),
    (IC, "identity.reset_password", {"user": "alex.rivera"}),
    (IC, "identity.remove_mfa", {"user": "alex.rivera"}),
    (RW, "endpoint.isolate_host", {"host": "wks-ops-05"}),
    (IC, "endpoint.release_host", {"host": "wks-out"}),
    (RW, "endpoint.kill_process", {"host": "wks-ops-05", "process": "wks-ops-05:7001"}),
    (RW, "endpoint.quarantine_file", {"host": "wks-ops-05", "file": "wks-ops-05:f1"}),
    (RW, "endpoint.delete_file", {"host": "wks-ops-05", "file": "wks-ops-05:f1"}),
    (IC, "endpoint.stop_sensor", {"host": "sensor-01"}),
    (IC, "network.block_address", {"address": "203.0.113.77"}),
    (IC, "network.block_address", {"address": "0.0.0.0/0"}),
    (IC, "network.block_address", {"address": "2001:db8::/32"}),
    (IC, "network.unblock_address", {"address": "203.0.113.201"}),
    (IC, "network.block_domain", {"domain": "corp-signin.example.net"}),
    (IC, "cases.add_comment", {"ticket": "T-2240", "comment": "c"}),
    (IC, "cases.create_ticket", {"case": IC, "title": "t", "description": "d"}),
    (IC, "cases.publish_finding", {"case": IC, "summary": "s", "verdict": "true_positive", "accused": ["alex.rivera"]}),
    (IC, "cases.close_ticket", {"ticket": "T-2231", "resolution": "duplicate", "note": "n"}),
    (IC, "cases.merge_tickets", {"ticket": "T-2231", "into": "T-2240"}),
    (BEC, "mail.send_message", {"recipients": ["a@corp.example", "b@example.org"], "subject": "s", "body": "b"}),
    (BEC, "mail.quarantine_message", {"message": "msg-3104"}),
    (BEC, "mail.delete_message", {"message": "msg-3104"}),
    (BEC, "mail.remove_rule", {"mailbox": "naïma.benali@corp.example", "rule": "rule-nb-7"}),
    (KEY, "cloud.deactivate_key", {"key": "AKEXAMPLE0017"}),
    (KEY, "cloud.activate_key", {"key": "AKOFF"}),
    (KEY, "cloud.delete_key", {"key": "AKEXAMPLE0017"}),
    (KEY, "cloud.stop_instance", {"instance": "i-0e2f"}),
    (KEY, "cloud.terminate_instance", {"instance": "i-0e2f"}),
    (KEY, "cloud.block_public_access", {"bucket": "corp-build-artefacts"}),
    (KEY, "cloud.attach_policy", {"principal": "ci-builder", "policy": "DenyAll"}),
    (KEY, "cloud.detach_policy", {"principal": "ci-builder", "policy": "BuildStorage"}),
    (LOAD, "malware.submit_sample", {"sample": DLL}),
]
GIVEN = {
    IC: {
        "siem.detections": [{"id": "det-off", "status": "disabled"}],
        "identity.accounts": [{"user": "svc-off", "enabled": False}],
        "endpoint.hosts": [{"host": "wks-out", "isolated": True}],
    },
    KEY: {"cloud.keys": [{"id": "AKOFF", "principal": "x", "status": "inactive"}]},
    LOAD: {"malware.samples": [{"sha256": DLL}]},
}

BAD = [
    ("siem.search", {"query": '"open'}, "close the quote"),
    ("siem.search", {"query": "x", "since": "noon"}, "since and until"),
    ("siem.search", {"query": "x", "until": "2026-03-02T08:00:00"}, "no zone"),
    ("siem.get_event", {"event": "evt-0"}, "no event 'evt-0'"),
    ("siem.get_event", {"event": "evt-2903"}, "no event"),
    ("siem.enable_detection", {"detection": "d"}, "no detection"),
    ("siem.disable_detection", {"detection": "d"}, "no detection"),
    ("siem.delete_detection", {"detection": "d"}, "no detection"),
    ("siem.add_detection", {"detection": "det-spray", "title": "t", "query": "x"}, "already a detection"),
    ("siem.add_detection", {"detection": "d", "title": "t", "query": "NOT"}, "NOT and OR"),
    ("identity.get_account", {"user": "alex.rivero"}, "no account"),
    ("identity.list_group_members", {"group": "g"}, "no group"),
    ("identity.disable_account", {"user": "u"}, "no account"),
    ("identity.enable_account", {"user": "u"}, "no account"),
    ("identity.revoke_sessions", {"user": "u"}, "no account"),
    ("identity.revoke_sessions", {"user": "alex.rivera", "sessions": ["ses-4502"]}, "no active session"),
    ("identity.reset_password", {"user": "u"}, "no account"),
    ("identity.remove_mfa", {"user": "u"}, "no account"),
    ("endpoint.get_host", {"host": "h"}, "no host"),
    ("endpoint.list_processes", {"host": "h"}, "no host"),
    ("endpoint.list_files", {"host": "h"}, "no host"),
    ("endpoint.isolate_host", {"host": "h"}, "no host"),
    ("endpoint.release_host", {"host": "h"}, "no host"),
    ("endpoint.stop_sensor", {"host": "h"}, "no host"),
    ("endpoint.kill_process", {"host": "wks-fin-09", "process": "wks-fin-07:4120"}, "no process on 'wks-fin-09'"),
    ("endpoint.quarantine_file", {"host": "wks-fin-07", "file": "f"}, "no file"),
    ("endpoint.delete_file", {"host": "wks-fin-09", "file": "wks-fin-07:f1"}, "no file"),
    ("network.dns_history", {}, "give a name or a host"),
    ("network.block_address", {"address": "everything"}, "no IP address"),
    ("network.block_domain", {"domain": "a b"}, "no domain name"),
    ("intel.get_report", {"report": "r"}, "no report"),
    ("cases.get_ticket", {"ticket": "T"}, "no ticket"),
    ("cases.add_comment", {"ticket": "T", "comment": "c"}, "no ticket"),
    ("cases.add_comment", {"ticket": "T-2228", "comment": "c"}, "takes no more comments"),
    ("cases.close_ticket", {"ticket": "T", "resolution": "benign", "note": "n"}, "no ticket"),
    ("cases.merge_tickets", {"ticket": "T-2228", "into": "T-2240"}, "no open ticket 'T-2228'"),
    ("cases.merge_tickets", {"ticket": "T-2240", "into": "T-2240"}, "into itself"),
    ("mail.get_message", {"message": "m"}, "no message"),
    ("mail.send_message", {"recipients": ["nobody"], "subject": "s", "body": "b"}, "no mail address"),
    ("mail.quarantine_message", {"message": "m"}, "no message"),
    ("mail.delete_message", {"message": "m"}, "no message"),
    ("mail.remove_rule", {"mailbox": "hana.sato@corp.example", "rule": "rule-alex-3"}, "no rule"),
    ("cloud.get_key_activity", {"key": "k"}, "no key"),
    ("cloud.describe_instance", {"instance": "i"}, "no instance"),
    ("cloud.get_principal", {"principal": "p"}, "no principal"),
    ("cloud.deactivate_key", {"key": "k"}, "no key"),
    ("cloud.activate_key", {"key": "k"}, "no key"),
    ("cloud.delete_key", {"key": "k"}, "no key"),
    ("cloud.stop_instance", {"instance": "i"}, "no instance"),
    ("cloud.terminate_instance", {"instance": "i"}, "no instance"),
    ("cloud.block_public_access", {"bucket": "b"}, "no bucket"),
    ("cloud.attach_policy", {"principal": "p", "policy": "x"}, "no principal"),
    ("cloud.detach_policy", {"principal": "p", "policy": "x"}, "no principal"),
    ("malware.static_facts", {"sample": "s"}, "no sample"),
    ("malware.strings", {"sample": "s"}, "no sample"),
    ("malware.imports", {"sample": "s"}, "no sample"),
    ("malware.submit_sample", {"sample": "s"}, "no sample"),
    ("catalog.describe", {"tool": "intel.lookup_fil"}, "no tool"),
]


def test_every_changing_tool_is_exercised():
    assert {name for _, name, _ in GOOD} == {name for name, tool in registry().tools.items() if tool.change}


def test_every_tool_that_can_fail_is_seen_failing():
    never = {
        "cases.create_ticket", "cases.list_tickets", "cases.publish_finding", "cases.search_tickets",
        "cloud.get_tags", "cloud.list_buckets", "cloud.list_instances", "cloud.list_keys", "identity.list_sessions",
        "intel.list_feeds", "intel.lookup_file", "intel.lookup_indicator", "mail.list_rules", "mail.search_messages",
        "malware.list_samples", "memory.recall", "network.list_blocks", "network.list_connections",
        "network.unblock_address",
        "siem.list_detections",
    }  # fmt: skip
    assert {name for name, _, _ in BAD} == set(registry().tools) - never


@pytest.mark.parametrize(("incident", "name", "arguments"), GOOD)
def test_a_change_happens_once_and_is_what_the_tool_declares(incident, name, arguments, prepared, call):
    world = prepared[incident].world(GIVEN.get(incident))
    tool, before = registry().tools[name], world.snapshot()
    outcome = call(world, name, **arguments)
    assert outcome.ok, outcome.error
    assert list(outcome.changes) == tool.attempts(arguments)
    assert {change.kind for change in outcome.changes} == {tool.change}
    assert world.snapshot() != before
    json.dumps(outcome.data)


ONCE = {
    "siem.delete_detection", "siem.add_detection", "identity.reset_password", "cases.merge_tickets",
    "mail.send_message", "mail.remove_rule", "cloud.delete_key",
}  # fmt: skip
IDEMPOTENT = [
    (incident, name, arguments)
    for incident, name, arguments in GOOD
    if registry().tools[name].authority is Authority.ACT and name not in ONCE and "sessions" not in arguments
]


@pytest.mark.parametrize(("incident", "name", "arguments"), IDEMPOTENT)
def test_a_change_made_twice_changes_nothing_more(incident, name, arguments, prepared, call):
    world = prepared[incident].world(GIVEN.get(incident))
    call(world, name, **arguments)
    before = world.snapshot()
    again = call(world, name, **arguments)
    assert again.ok, again.error
    assert again.changes == ()
    assert world.snapshot() == before


@pytest.mark.parametrize(("name", "arguments", "error"), BAD)
def test_what_cannot_be_served_is_an_answer_that_changes_nothing(name, arguments, error, world, call):
    before = world.snapshot()
    outcome = call(world, name, **arguments)
    assert not outcome.ok
    assert error in outcome.error
    assert (outcome.changes, outcome.data, world.snapshot()) == ((), None, before)


def test_a_tool_declares_what_the_gateway_must_know(tool):
    assert tool.description.endswith(".")
    assert tool.schema["additionalProperties"] is False
    assert set(tool.leaves) <= set(tool.arguments.model_fields)
    assert tool.leaves or not tool.outside
    if tool.effect is Effect.READ:
        assert tool.kind
        assert tool.authority is Authority.OBSERVE
        assert tool.change is None
    else:
        assert tool.authority is not Authority.OBSERVE
        assert tool.change
        assert any(target.changes for target in tool.targets.values())


def test_texts_have_caps(tool):
    def strings(schema):
        if schema.get("type") == "string" and "enum" not in schema and "const" not in schema:
            yield schema
        for inner in [*schema.get("anyOf", []), schema.get("items", {}), *schema.get("properties", {}).values()]:
            if inner:
                yield from strings(inner)

    models = [tool.schema, *tool.schema.get("$defs", {}).values()]
    assert [s for model in models for s in strings(model) if "maxLength" not in s] == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("siem.search", {"query": "x", "limit": 51}),
        ("siem.search", {"query": "x", "limit": True}),
        ("siem.search", {"query": "x" * 501}),
        ("identity.disable_account", {"user": ""}),
        ("identity.disable_account", {"user": ["alex.rivera"]}),
        ("identity.disable_account", {"user": "u" * 257}),
        ("identity.disable_account", {"user": "alex.rivera", "approved": True}),
        ("cases.close_ticket", {"ticket": "T", "resolution": "solved", "note": "n"}),
        ("mail.send_message", {"recipients": [], "subject": "s", "body": "b"}),
    ],
)
def test_arguments_of_another_shape_are_refused(name, arguments):
    with pytest.raises(ValidationError):
        registry().tools[name].arguments.model_validate(arguments)


def test_a_change_names_only_what_changes():
    tools = registry().tools
    finding = {"case": IC, "summary": "s", "verdict": "benign", "accused": ["maya.chen"]}
    assert tools["cases.publish_finding"].attempts(finding) == [Change("finding_published", IC)]
    kill = {"host": "wks-1", "process": "p"}
    assert tools["endpoint.kill_process"].attempts(kill) == [Change("process_killed", "p")]
    assert [aim.value for aim in tools["endpoint.kill_process"].aims(kill)] == ["wks-1", "p"]
