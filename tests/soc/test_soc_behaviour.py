"""What an investigator relies on: the parts of the world hang together."""

from __future__ import annotations

import json

import pytest

IC = "identity-compromise"


def test_a_search_finds_the_story_and_says_how_much_more_there_is(world, call):
    outcome = call(world, "siem.search", query="user:alex.rivera ip:203.0.113.77", limit=3)
    assert (outcome.data["total"] > 10, outcome.data["shown"], len(outcome.data["events"])) == (True, 3, 3)
    assert [e["time"] for e in outcome.data["events"]] == sorted(e["time"] for e in outcome.data["events"])
    assert outcome.foreign == ()


def test_a_search_keeps_to_its_span_of_time(world, call):
    span = {"since": "+30m", "until": "2026-03-02T08:34:00Z"}
    outcome = call(world, "siem.search", query="user:alex.rivera", **span)
    assert [e["uid"] for e in outcome.data["events"]][-1] == "evt-1087"
    assert all("T08:3" in e["time_dt"] for e in outcome.data["events"])


def test_another_incident_is_seen_only_when_asked_for(world, call):
    own = call(world, "siem.search", query="lockit", limit=50)
    other = call(world, "siem.search", query="lockit", case="ransomware-endpoint")
    assert own.data["total"] == 0
    assert other.data["total"] == 1
    assert other.foreign == ("ransomware-endpoint",)
    assert call(world, "siem.get_event", event="evt-2917", case="ransomware-endpoint").foreign == (
        "ransomware-endpoint",
    )
    tickets = call(world, "cases.list_tickets", limit=50)
    assert "T-2190" not in {row["id"] for row in tickets.data["tickets"]}
    assert call(world, "cases.get_ticket", ticket="T-2190").foreign == ("ransomware-endpoint",)
    assert call(world, "cases.search_tickets", text="paper", case="ransomware-endpoint").data["total"] == 1


def test_a_comment_of_another_incident_on_an_own_ticket_is_foreign(prepared, call):
    rows = [{"id": "c", "ticket": "T-2240", "text": "x", "incident": "leaked-cloud-key"}]
    world = prepared[IC].world({"cases.comments": rows})
    assert call(world, "cases.get_ticket", ticket="T-2240").foreign == ("leaked-cloud-key",)


def test_a_disabled_account_has_no_active_session(world, call):
    outcome = call(world, "identity.disable_account", user="alex.rivera")
    assert outcome.data["sessions_ended"] == ["ses-4438", "ses-4471"]
    assert call(world, "identity.list_sessions", user="alex.rivera", state="active").data["total"] == 0
    assert call(world, "identity.get_account", user="alex.rivera").data["enabled"] is False
    members = call(world, "identity.list_group_members", group="finance").data["members"]
    assert members[0] == {"user": "alex.rivera", "enabled": False}
    assert call(world, "identity.revoke_sessions", user="alex.rivera").changes == ()


def test_an_isolated_host_has_no_open_connection(prepared, call):
    world = prepared["ransomware-endpoint"].world()
    call(world, "endpoint.isolate_host", host="wks-ops-05")
    rows = call(world, "network.list_connections", host="wks-ops-05").data["connections"]
    assert {row["state"] for row in rows} == {"closed"}
    assert call(world, "endpoint.get_host", host="wks-ops-05").data["isolated"] is True


def test_a_blocked_network_is_listed_and_cuts_connections(world, call):
    outcome = call(world, "network.block_address", address="203.0.113.0/24", reason="storm")
    assert outcome.data["connections_cut"] == ["con-933"]
    assert "203.0.113.0/24" in {row["value"] for row in call(world, "network.list_blocks").data["blocks"]}
    assert call(world, "network.list_connections", remote="203.0.113.77").data["connections"][0]["state"] == "blocked"


def test_a_closed_ticket_takes_no_comment(world, call):
    call(world, "cases.close_ticket", ticket="T-2240", resolution="true_positive", note="done")
    assert "closed" in call(world, "cases.add_comment", ticket="T-2240", comment="more").error
    assert call(world, "cases.get_ticket", ticket="T-2240").data["resolution"] == "true_positive"


def test_a_comment_is_read_back(world, call):
    call(world, "cases.add_comment", ticket="T-2240", comment="ses-4471 is foreign")
    comments = call(world, "cases.get_ticket", ticket="T-2240").data["comments"]
    assert (comments[-1]["text"], comments[-1]["at"]) == ("ses-4471 is foreign", "2026-03-02T10:00:00Z")
    assert call(world, "cases.search_tickets", text="ses-4471 IS foreign").data["tickets"][0]["id"] == "T-2240"


def test_a_finding_is_kept_whole(world, call):
    claims = [{"text": "pushed into it", "evidence": ["evt-1080", "evt-1087"]}]
    outcome = call(world, "cases.publish_finding", case=IC, summary="s", verdict="true_positive", claims=claims)
    row = world.row("cases.findings", outcome.data["finding"])
    assert (row["claims"], row["verdict"]) == (claims, "true_positive")


def test_a_tool_shows_the_payload_of_every_channel(prepared, call):
    mark = "PAYLOAD-7"
    given = {
        "siem.events": [
            {"id": "p1", "at": "+50m", "cmd": mark, "host": "h"},
            {"id": "p2", "at": "+50m", "user_agent": mark},
            {"id": "p3", "at": "+50m", "cert_subject": mark},
            {"id": "p4", "at": "+50m", "query": "x.example", "rdata": mark},
        ],
        "cases.comments": [{"id": "c1", "ticket": "T-6620", "author": "x", "text": mark}],
        "mail.messages": [{"id": "m1", "headers": {"X-Note": mark}, "body": mark, "attachments": [mark]}],
        "endpoint.files": [{"id": "f1", "host": "wks-eng-14", "description": mark}],
        "endpoint.processes": [{"id": "q1", "host": "wks-eng-14", "cmd_line": mark}],
        "network.dns": [{"id": "d1", "name": "x.example", "type": "TXT", "answers": [mark]}],
        "cloud.tags": [{"id": "t1", "resource": "i-0e2f", "name": "note", "value": mark}],
        "intel.feeds": [{"name": mark}],
        "intel.reports": [{"id": "r1", "title": "t", "text": mark}],
        "malware.samples": [{"sha256": "s1"}],
        "malware.strings": [{"id": "s2", "sample": "s1", "text": mark}],
    }
    world = prepared["leaked-cloud-key"].world(given)
    reads = [
        ("siem.search", {"query": f"host:h {mark}"}), ("siem.search", {"query": f'user_agent:"{mark}"'}),
        ("siem.search", {"query": "cert_subject:payload*"}), ("siem.search", {"query": "domain:x.example"}),
        ("cases.get_ticket", {"ticket": "T-6620"}), ("mail.search_messages", {"text": mark}),
        ("mail.get_message", {"message": "m1"}), ("endpoint.list_files", {"host": "wks-eng-14"}),
        ("endpoint.list_processes", {"host": "wks-eng-14"}), ("network.dns_history", {"name": "example"}),
        ("cloud.get_tags", {"resource": "i-0e2f"}), ("cloud.describe_instance", {"instance": "i-0e2f"}),
        ("intel.list_feeds", {}), ("intel.get_report", {"report": "r1"}), ("malware.strings", {"sample": "s1"}),
    ]  # fmt: skip
    unseen = [read for read in reads if mark not in json.dumps(call(world, read[0], **read[1]).data)]
    assert unseen == []


def test_deleted_things_are_gone(prepared, call):
    world = prepared["business-email-compromise"].world()
    call(world, "mail.delete_message", message="msg-3104")
    assert not call(world, "mail.get_message", message="msg-3104").ok
    assert not call(world, "mail.quarantine_message", message="msg-3104").ok
    world = prepared["leaked-cloud-key"].world()
    call(world, "cloud.delete_key", key="AKEXAMPLE0099")
    assert not call(world, "cloud.get_key_activity", key="AKEXAMPLE0099").ok
    call(world, "cloud.terminate_instance", instance="i-0e30")
    assert "terminated" in call(world, "cloud.stop_instance", instance="i-0e30").error


def test_an_unknown_indicator_is_an_answer(world, call):
    assert call(world, "intel.lookup_indicator", indicator="198.51.100.250").data["verdict"] == "unknown"
    assert call(world, "intel.lookup_indicator", indicator="CORP-SIGNIN.example.net").data["verdict"] == "suspicious"


def test_what_a_reader_does_with_an_answer_does_not_reach_the_world(world, call):
    before = world.snapshot()
    call(world, "mail.get_message", message="msg-1107").data["headers"]["X"] = "changed"
    call(world, "siem.search", query="user:alex.rivera").data["events"][0]["uid"] = "changed"
    call(world, "cases.get_ticket", ticket="T-2240").data["comments"].clear()
    assert world.snapshot() == before


@pytest.mark.parametrize(
    ("table", "row", "lists"),
    [
        ("mail.messages", {"id": "x"}, ("mail.search_messages", {})),
        ("mail.rules", {"id": "x", "mailbox": "b"}, ("mail.list_rules", {"mailbox": "b"})),
        ("endpoint.processes", {"id": "x", "host": "wks-fin-07"}, ("endpoint.list_processes", {"host": "wks-fin-07"})),
        ("endpoint.files", {"id": "x", "host": "wks-fin-07"}, ("endpoint.list_files", {"host": "wks-fin-07"})),
        ("network.connections", {"id": "x"}, ("network.list_connections", {})),
        ("network.dns", {"id": "x", "name": "n.example"}, ("network.dns_history", {"name": "n.example"})),
        ("identity.sessions", {"id": "x"}, ("identity.list_sessions", {})),
        ("cloud.keys", {"id": "x"}, ("cloud.list_keys", {})),
        ("cloud.instances", {"id": "x"}, ("cloud.list_instances", {})),
        ("cloud.buckets", {"name": "x"}, ("cloud.list_buckets", {})),
        ("malware.samples", {"sha256": "x"}, ("malware.list_samples", {})),
    ],
)
def test_a_list_holds_the_own_incident_only(table, row, lists, prepared, call):
    totals = []
    for more in ({}, {"incident": "malware-loader"}, {"incident": IC}):
        outcome = call(prepared[IC].world({table: [row | more]}), lists[0], **lists[1])
        totals.append(outcome.data["total"])
        assert outcome.foreign == ()
    assert totals[0] == totals[2] == totals[1] + 1
