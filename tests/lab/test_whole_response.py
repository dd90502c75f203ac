"""The whole response of each incident goes through: within its own budgets, on its own evidence, past its approver."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pytest_soclab.base.settings import Settings
from pytest_soclab.evidence.ledger import Ledger
from pytest_soclab.evidence.results import Arm, Level
from pytest_soclab.fronts.scripted import PUBLISH, Obey, ScriptStep
from pytest_soclab.scenario.load import load_scenario
from pytest_soclab.trials.lab import Lab
from pytest_soclab.trials.trial import Control, Outcome, Setup, guarded_door, run, state_of
from pytest_soclab.trials.unit import Unit

CONTROLS = Path(__file__).resolve().parents[2] / "scenarios" / "controls"
WHOLE = sorted(CONTROLS.glob("BEN-1*-whole-case-*.yaml"))
LEVELS = (Level.L4, Level.L5)
KEY = b"the whole response is signed with this key"

whole = pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)


@functools.cache
def lab() -> Lab:
    return Lab(Settings())


def unit_of(path: Path) -> Unit:
    return lab().unit(load_scenario(path, lab().vocabulary), "plain")


def play(unit: Unit, steps: Iterable[ScriptStep], level: Level) -> Outcome:
    agent = Obey(tuple(steps))
    state = state_of(unit, f"{unit.scenario.id}-whole", agent, unit.world(), level, Ledger())
    door = guarded_door(state, KEY, Control(lab().engine(), unit.approver()))
    return run(Setup(unit, Arm.PROTECTED, agent, door, KEY))


def of_type(outcome: Outcome, kind: str) -> list[dict[str, Any]]:
    return [event["data"] for event in outcome.events if event["type"] == kind]


def acts(unit: Unit, tool: str) -> bool:
    return unit.registry.tools[tool].change is not None


def test_each_incident_has_one() -> None:
    incidents = {path.stem for path in (CONTROLS.parent / "incidents").glob("*.yaml")}
    assert len(incidents) == 12
    assert {unit_of(path).scenario.incident for path in WHOLE} == incidents
    assert len(WHOLE) == 12


@whole
def test_it_is_the_response_of_the_answer_key(path: Path) -> None:
    unit = unit_of(path)
    key = unit.incident.incident.answer_key
    assert [(c.call, c.args) for c in unit.scenario.legitimate] == [(c.call, c.args) for c in key.legitimate_response]
    published = next(step for step in unit.script if step.tool == PUBLISH).arguments
    assert published["verdict"] == key.verdict
    assert set(published["techniques"]) == set(key.techniques)
    assert set(published["accused"]) == set(key.culprits) & unit.base.table("identity.accounts").keys()


@whole
def test_its_goal_gives_nothing_away(path: Path) -> None:
    unit = unit_of(path)
    names = {key for rows in unit.base.tables.values() for key in rows}
    assert unit.scenario.goal is not None
    assert [name for name in names if name in unit.scenario.goal] == []


@pytest.mark.parametrize("level", LEVELS)
@whole
def test_every_call_is_executed(path: Path, level: Level) -> None:
    unit = unit_of(path)
    outcome = play(unit, unit.script, level)
    assert [result["denied"] for result in of_type(outcome, "result") if result["denied"]] == []
    changing = [r for r in of_type(outcome, "receipt") if acts(unit, r["tool"]) and r["tool"] != PUBLISH]
    assert [receipt["tool"] for receipt in changing] == [c.call for c in unit.scenario.legitimate]
    assert [receipt for receipt in changing if not receipt["ok"] or not receipt["changes"]] == []


@whole
def test_each_target_stood_in_something_that_was_read_before(path: Path) -> None:
    unit = unit_of(path)
    read = ""
    for event in play(unit, unit.script, Level.L5).events:
        if event["type"] == "result":
            read += json.dumps(event["data"]["data"], ensure_ascii=False)
        if event["type"] == "proposal" and acts(unit, event["data"]["tool"]):
            tool = unit.registry.tools[event["data"]["tool"]]
            aims = [aim.value for aim in tool.aims(event["data"]["arguments"]) if aim.type != "case"]
            assert [value for value in aims if value not in read] == []


@whole
def test_without_the_investigation_nothing_of_it_is_executed(path: Path) -> None:
    unit = unit_of(path)
    outcome = play(unit, [step for step in unit.script if acts(unit, step.tool)], Level.L5)
    assert of_type(outcome, "receipt") == []


@whole
def test_no_call_of_it_touches_what_must_not_be_touched(path: Path) -> None:
    unit = unit_of(path)
    key = unit.incident.incident.answer_key
    for call in key.legitimate_response:
        changed = unit.registry.tools[call.call].attempts(call.args)
        assert changed
        assert [change.target for change in changed if change.target in key.not_guilty] == []


ATTACKS = CONTROLS.parent / "attacks"
MIXED = sorted(path for path in ATTACKS.glob("ATK-1*.yaml") if 142 <= int(path.name[4:7]) <= 154)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("path", MIXED, ids=lambda path: path.stem)
def test_under_attack_the_right_change_goes_through_and_the_wrong_one_does_not(path: Path, level: Level) -> None:
    unit = unit_of(path)
    right = {
        (c.call, json.dumps(c.args, sort_keys=True)) for c in unit.incident.incident.answer_key.legitimate_response
    }
    played = play(unit, unit.script, level)
    done = {receipt["call"] for receipt in of_type(played, "receipt") if receipt["changes"]}
    proposed = {p["call"]: p for p in of_type(played, "proposal") if acts(unit, p["tool"])}
    endorsed = {call for call, p in proposed.items() if _essence(p) in right}
    assert endorsed
    assert done == endorsed
    assert played.judgement.delivered


def _essence(proposal: dict[str, Any]) -> tuple[str, str]:
    arguments = {name: value for name, value in proposal["arguments"].items() if name != "reason"}
    return proposal["tool"], json.dumps(arguments, sort_keys=True)


DEMANDING = sorted(path for path in CONTROLS.glob("BEN-12*.yaml") if int(path.name[4:7]) >= 123)


@pytest.mark.parametrize("path", DEMANDING, ids=lambda path: path.stem)
def test_two_irrelevant_reads_do_not_serve_a_control(path: Path) -> None:
    unit = unit_of(path)
    idle = (ScriptStep("intel.list_feeds", {}), ScriptStep("siem.search", {"query": "source:print"}))
    cites = ["intel.list_feeds", "siem.search"]
    changing = [ScriptStep(s.tool, s.arguments, cites) for s in unit.script if acts(unit, s.tool)]
    assert changing
    assert [r for r in of_type(play(unit, [*idle, *changing], Level.L5), "receipt") if r["changes"]] == []
