from __future__ import annotations

import copy

import pytest

from pytest_soclab.base.errors import ScenarioError
from pytest_soclab.soc.build import build_world, check_tables, prepare
from pytest_soclab.soc.servers import registry, servers, tables

LEAST = {
    "id": "least",
    "start": "2026-03-02T08:00:00Z",
    "opened": "+2h",
    "tables": {
        "siem.events": [{"id": "e2", "at": "+2m", "user": "a"}, {"id": "e1", "at": "+1m", "cmd": "x.exe"}],
        "identity.accounts": [{"user": "a", "created_at": "-1d"}],
        "mail.messages": [{"id": "m", "to": "one@corp.example"}],
    },
}


def test_shorthands_become_ocsf_names():
    row = build_world(LEAST).row("siem.events", "e1")
    assert row == {
        "uid": "e1",
        "time": 1772438460000,
        "time_dt": "2026-03-02T08:01:00Z",
        "class_name": "Process Activity",
        "class_uid": 1007,
        "category_name": "System Activity",
        "severity": "Informational",
        "process.cmd_line": "x.exe",
    }


def test_events_stand_in_time_order_and_a_scenario_row_falls_into_place():
    world = build_world(LEAST, {"siem.events": [{"id": "g", "at": "+90s", "message": "between"}]})
    assert list(world.table("siem.events")) == ["e1", "g", "e2"]


def test_a_scenario_row_replaces_the_row_with_its_key():
    world = build_world(LEAST, {"identity.accounts": [{"user": "a", "enabled": False}, {"user": "ü"}]})
    assert world.row("identity.accounts", "a")["enabled"] is False
    assert "created_at" not in world.row("identity.accounts", "a")
    assert list(world.table("identity.accounts")) == ["a", "ü"]


def test_rows_get_defaults_times_and_lists():
    world = build_world(LEAST)
    account = world.row("identity.accounts", "a")
    assert (account["enabled"], account["created_at"]) == (True, "2026-03-01T08:00:00Z")
    assert world.row("mail.messages", "m")["to"] == ["one@corp.example"]


def test_a_scenario_changes_neither_the_base_nor_its_own_input():
    prepared = prepare(LEAST)
    before, given = prepared.base.snapshot(), {"mail.messages": [{"id": "m", "to": ["x@corp.example"]}]}
    kept = copy.deepcopy(given)
    prepared.world(given).row("mail.messages", "m")["to"].append("y")
    assert (prepared.base.snapshot(), given) == (before, kept)


def test_the_charter_holds_what_the_incident_declares(incidents):
    charter = build_world(incidents["identity-compromise"]).charter
    assert "alex.rivera" in charter.scope["account"]
    assert charter.assets["svc-backup"].protected
    assert charter.assets["sensor-01"].roles == ("telemetry",)
    window = next(w for w in charter.maintenance if w.entity == "srv-db-02")
    assert (window.start - charter.start, window.end - charter.start) == (3600, 4 * 3600)


def test_undeclared_assets_stay_undeclared():
    assert build_world(LEAST).charter.assets is None
    assert build_world({**LEAST, "assets": {}}).charter.assets == {}


@pytest.mark.parametrize(
    ("given", "path", "words"),
    [
        ([], (), ["a mapping of tables"]),
        ({"siem.event": []}, ("siem.event",), ["unknown table", "did you mean 'siem.events'?"]),
        ({"siem.events": {}}, ("siem.events",), ["a list of rows"]),
        ({"siem.events": ["x"]}, ("siem.events", 0), ["'x'", "a mapping"]),
        ({"siem.events": [{"at": "+1m"}]}, ("siem.events", 0), ["without its key", "add id"]),
        ({"siem.events": [{"id": "a"}]}, ("siem.events", 0), ["without 'at'"]),
        ({"siem.events": [{"id": "", "at": "+1m"}]}, ("siem.events", 0, "id"), ["not empty"]),
        ({"siem.events": [{"id": 7, "at": "+1m"}]}, ("siem.events", 0, "id"), ["a text that is not empty"]),
        ({"siem.events": [{"id": "a", "at": "+1.5m"}]}, ("siem.events", 0, "at"), ["'+1.5m'", "an offset"]),
        ({"siem.events": [{"id": "a", "at": "+1m", "usr": "x"}]}, ("siem.events", 0, "usr"), ["did you mean 'user'?"]),
        ({"siem.events": [{"id": "a", "at": "+1m", "user": 3}]}, ("siem.events", 0, "user"), ["a text"]),
        ({"siem.events": [{"id": "a", "at": "+1m", "pid": True}]}, ("siem.events", 0, "pid"), ["a number"]),
        (
            {"siem.events": [{"id": "a", "at": "+1m", "class": "DNS Activty"}]},
            ("siem.events", 0, "class"),
            ["'DNS Activity'?"],
        ),
        ({"siem.events": [{"id": "a", "at": "+1m", "x.y": {}}]}, ("siem.events", 0, "x.y"), ["a scalar"]),
        (
            {"identity.accounts": [{"user": "a", "enabled": "no"}]},
            ("identity.accounts", 0, "enabled"),
            ["true or false"],
        ),
        ({"mail.messages": [{"id": "a", "headers": ["x"]}]}, ("mail.messages", 0, "headers"), ["a mapping of texts"]),
        ({"mail.messages": [{"id": "a", "to": [1]}]}, ("mail.messages", 0, "to"), ["a list of texts"]),
        ({"cases.tickets": [{"id": "T"}, {"id": "T"}]}, ("cases.tickets", 1, "id"), ["a second time"]),
    ],
)
def test_a_fault_of_a_row_has_its_path_and_remedy(given, path, words):
    fault = next(f for f in check_tables(given) if f.path == path)
    text = f"{fault.found}, expected {fault.expected}; {fault.remedy}"
    assert [word for word in words if word not in text] == []


def test_all_faults_come_at_once():
    faults = check_tables({"siem.events": [{"id": "a", "at": "x", "usr": "u"}, 3], "nope": []})
    assert len(faults) == 4


def test_wrong_rows_never_become_a_world():
    with pytest.raises(ScenarioError, match=r"tables\.siem\.events\.0\.at"):
        prepare({**LEAST, "tables": {"siem.events": [{"id": "a", "at": "noon"}]}})
    with pytest.raises(ScenarioError, match="unknown table"):
        build_world(LEAST, {"nope": []})


def test_each_server_declares_its_own_tables_and_tools():
    for server in servers():
        name = server.__name__.rpartition(".")[2]
        assert {tool.server for tool in server.TOOLS} == {name}
        assert {table.name.partition(".")[0] for table in server.TABLES} == {name}
    assert len(registry().tools) == sum(len(server.TOOLS) for server in servers())
    assert len(tables()) == sum(len(server.TABLES) for server in servers())
