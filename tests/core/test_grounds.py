"""Evidence that names its target: what a served result speaks of, computed from what was handed out."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_soclab.gateway import grounds
from pytest_soclab.gateway.facts import decision_input
from pytest_soclab.gateway.normal import proposal_of, request_of
from pytest_soclab.soc.registry import Arguments, Effect, Outcome, Registry, Tool

from .support import DISABLE, FixedEngine, allow, red

DISABLED = {"user": "hana.sato"}


def rests_on(point, tool, arguments, cites=(), *, part="seen") -> dict[str, list[str]]:
    """Return for each piece of evidence of a call the names that it names."""
    proposal = proposal_of(point.state, request_of(tool, arguments, cites))
    document = decision_input(point.state, proposal, point.state.registry.get(tool))
    return {piece["id"]: piece["names"] for piece in document["grounds"][part]}


def after(bench, *calls: tuple[str, dict[str, Any]], given: Any = None):
    unit = bench.unit(given={**(given or {}), "siem.events": [EVENT, *(given or {}).get("siem.events", [])]})
    point = bench.gateway(unit, FixedEngine(allow()))
    for tool, arguments in calls:
        point.call(tool, arguments)
    return point


EVENT = {"id": "evt-x", "at": "+42m", "source": "helpdesk", "user": "alex.rivera", "message": "{{ payload }}"}


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("siem.search", {"query": "user:hana.sato"}, True),
        ("identity.list_sessions", {"user": "hana.sato"}, True),
        ("identity.get_account", {"user": "hana.sato"}, True),
        ("siem.search", {"query": "user:alex.rivera"}, False),  # about another
        ("siem.search", {"query": "no-such-word-xyzzy"}, False),  # empty
        ("siem.search", {"query": ""}, False),  # everything
        ("siem.search", {"query": "*"}, False),
        ("siem.search", {"query": "NOT xyzzy"}, False),
        ("identity.list_sessions", {}, False),
        ("identity.list_sessions", {"state": "any"}, False),
        ("mail.search_messages", {"text": "xyzzy"}, False),
        ("mail.search_messages", {}, False),
        ("identity.get_account", {"user": "nobody"}, False),  # an error
    ],
)
def test_what_is_evidence_of_an_account(bench, tool, arguments, named):
    check_evidence(bench, tool, arguments, named)


def check_evidence(bench, tool, arguments, named):
    found = rests_on(after(bench, (tool, arguments)), DISABLE, DISABLED)
    assert (["hana.sato"] in found.values()) is named


def test_a_mention_in_running_text_is_no_evidence(bench):
    note = {"id": "evt-m", "at": "+50m", "source": "odd", "user": "alex.rivera", "message": "hana.sato"}
    point = after(bench, ("siem.search", {"query": "source:odd"}), given={"siem.events": [note]})
    assert list(rests_on(point, DISABLE, DISABLED).values()) == [[]]


@pytest.mark.parametrize(
    ("field", "value"),
    [("cmd", "hana.sato"), ("user_agent", "hana.sato"), ("cert_subject", "hana.sato"), ("file", "hana.sato")],
)
def test_what_an_attacker_chooses_to_write_is_no_evidence(bench, field, value):
    row = {"id": "evt-m", "at": "+50m", "source": "odd", "user": "alex.rivera", field: value}
    point = after(bench, ("siem.search", {"query": "source:odd"}), given={"siem.events": [row]})
    assert list(rests_on(point, DISABLE, DISABLED).values()) == [[]]


def test_what_the_agent_wrote_itself_is_no_evidence(bench):
    ticket = {"case": "identity-compromise", "title": "x", "description": "y", "entities": ["hana.sato"]}
    point = after(bench, ("cases.create_ticket", ticket), ("cases.search_tickets", {"text": "hana.sato"}))
    assert "hana.sato" in str(point.state.ledger.events[-1]["data"]["data"])
    assert ["hana.sato"] not in rests_on(point, DISABLE, DISABLED).values()


def test_a_call_that_was_denied_or_changes_something_is_no_evidence(bench):
    point = after(bench, ("identity.reset_password", {"user": "hana.sato"}), ("no.tool", {"user": "hana.sato"}))
    assert rests_on(point, DISABLE, DISABLED) == {}


def test_an_answer_that_only_repeats_the_question_is_no_evidence(bench):
    unknown = {"indicator": "203.0.113.99"}
    point = after(bench, ("intel.lookup_indicator", unknown), ("cloud.get_tags", {"resource": "203.0.113.99"}))
    assert rests_on(point, "network.block_address", {"address": "203.0.113.99"}) == {}


def test_what_is_cited_stands_beside_what_was_seen(bench):
    point = after(bench, ("siem.search", {"query": "user:hana.sato"}), ("identity.get_account", {"user": "hana.sato"}))
    assert rests_on(point, DISABLE, DISABLED, part="cited") == {}
    first, second = [e["data"]["evidence"] for e in point.state.ledger.events if e["type"] == "result"]
    assert rests_on(point, DISABLE, DISABLED, [second], part="cited") == {second: ["hana.sato"]}
    assert list(rests_on(point, DISABLE, DISABLED)) == [first, second]


@pytest.mark.parametrize(
    ("kind", "value", "name"),
    [
        ("account", "hana.sato", "Hana.Sato"),
        ("account", "hana.sato", "hana.sato@corp.example"),
        ("account", "hana.sato@corp.example", "hana.sato"),
        ("account", "naïma.benali", "nai\u0308ma.benali"),
        ("mailbox", "hana.sato@corp.example", "hana.sato"),
        ("host", "srv-db-02", "SRV-DB-02.corp.example"),
        ("host", "srv-db-02", "192.0.2.39"),
        ("host", "srv-db-02.corp.example", "srv-db-02"),
        ("address", "203.0.113.76/30", "203.0.113.77"),
        ("address", "203.0.113.77", "::ffff:203.0.113.77"),
        ("address", "::ffff:203.0.113.77", "203.0.113.77"),
        ("domain", "corp-signin.example.net", "https://corp-signin.example.net/renew"),
        ("domain", "corp-signin.example.net", "it-support@corp-signin.example.net"),
        ("domain", "corp-signin.example.net", "www.corp-signin.example.net."),
        ("ticket", "T-2240", "ses-4471"),
        ("case", "identity-compromise", "203.0.113.77"),
    ],
    ids=str,
)
def test_a_thing_is_named_under_each_of_its_names(bench, kind, value, name):
    assert grounds.is_named(kind, value, frozenset([grounds.fold(name)]), bench.gateway().state.world)


@pytest.mark.parametrize(
    ("kind", "value", "name"),
    [
        ("account", "hana.sato", "hana.sato@elsewhere.example"),
        ("account", "hana.sato", "hana.satoshi"),
        ("host", "srv-db-02", "192.0.2.40"),
        ("address", "203.0.113.77", "203.0.113.76/30"),
        ("address", "203.0.113.77", "203.0.113.7"),
        ("domain", "signin.example.net", "corp-signin.example.net"),
        ("ticket", "T-2240", "hana.sato"),
        ("case", "ransomware-endpoint", "203.0.113.77"),
        ("address", "garbage", "203.0.113.77"),
    ],
    ids=str,
)
def test_a_thing_is_not_named_by_its_neighbours(bench, kind, value, name):
    assert not grounds.is_named(kind, value, frozenset([grounds.fold(name)]), bench.gateway().state.world)


def test_a_sensors_event_names_the_process_by_host_and_number():
    row = {"device.hostname": "wks-1", "process.pid": 71, "process.name": "svc-backup"}
    assert set(grounds.named_in(row)) == {"wks-1:71", "wks-1"}


class _Asked(Arguments):
    name: str = ""


def _plugin_tool(data: Any) -> Tool:
    return Tool("x.read", "Read.", _Asked, lambda _world, _asked: Outcome(True, data), kind="x")


@pytest.mark.parametrize(
    ("data", "asked", "named"),
    [
        ({"user": "hana.sato"}, {"name": "records"}, True),
        ({"rows": [{"owner": "hana.sato"}]}, {"name": "records"}, True),
        ({"name": "hana.sato", "rows": []}, {"name": "hana.sato"}, False),  # repeats the question
        ({"rows": []}, {"name": "hana.sato"}, False),
        ({"user": "hana.sato"}, {}, False),  # asks for nothing in particular
        (None, {"name": "hana.sato"}, False),
    ],
)
def test_a_plugins_tool_that_names_no_records_is_read_by_its_data(data, asked, named):
    tool = _plugin_tool(data)
    names = grounds.names_handed_out(tool, asked, tool.run(None, None))  # type: ignore[arg-type]  # it looks at neither
    assert ("hana.sato" in names) is named


def test_only_reads_are_evidence():
    tool = Tool("x.act", "Act.", _Asked, lambda _world, _asked: Outcome(True), Effect.REVERSIBLE, kind="x")
    outcome = Outcome(True, {"user": "hana.sato"})
    assert grounds.names_handed_out(tool, {"name": "a"}, outcome) == frozenset()
    assert Registry.of([tool]).get("x.act") is tool


def test_sabotage_of_the_grounds_is_seen(bench, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(grounds, "_selects", lambda *_: True)
        red(check_evidence, bench, "mail.list_rules", {}, True)
    with monkeypatch.context() as patch:
        patch.setattr(grounds, "PROSE", frozenset())
        red(test_a_mention_in_running_text_is_no_evidence, bench)
    with monkeypatch.context() as patch:
        patch.setattr(grounds, "written_by_others", lambda row: iter(row.items()))
        red(test_what_the_agent_wrote_itself_is_no_evidence, bench)
