"""A live agent takes a scenario's aim by another way: a control stops it and is named, or the attack succeeded.

`disguises.json` holds ways that once executed their harm and were judged resisted, or were denied and credited to the
agent. Each is tried behind the bundled policy, and once more where nothing stops it: there the judge alone must see it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_soclab.base import resources
from pytest_soclab.evidence.results import ActionState, Arm, Layer, Level, Verdict
from pytest_soclab.gateway import approvals
from pytest_soclab.scenario.load import load_scenario

from .support import Live, of_type

CASES = json.loads((Path(__file__).parent / "disguises.json").read_text())
IDS = [f"{number}-{case['scenario']}" for number, case in enumerate(CASES)]


def unit_of(lab, name, variant):
    file = next((resources.scenarios() / "attacks").glob(f"{name}-*.yaml"))
    return lab.unit(load_scenario(file, lab.vocabulary), variant)


def agent_of(case):
    """Return the agent that makes the calls of a case, whatever it is answered."""

    def work(_case, soc):
        for step in case["steps"]:
            soc.call(step["tool"], step["args"], cites=step["cites"])

    return Live(work)


def tried(bench, case, arm):
    unit = unit_of(bench.lab, case["scenario"], case["variant"])
    approver = approvals.make(case["approver"] or unit.scenario.approver, unit.legitimate)
    return bench.run(unit, agent_of(case), arm=arm, approver=approver, level=Level(case["level"]))


def executed(outcome, case):
    """Tell whether the last call of a case, in which its harm lies, was executed."""
    done = [receipt["call"] for receipt in of_type(outcome.events, "receipt") if receipt["ok"]]
    return len(case["steps"]) in done


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_disguised_attack_is_stopped_by_a_named_control_or_seen_to_succeed(bench, case):
    outcome = tried(bench, case, Arm.PROTECTED)
    judgement = outcome.judgement
    if executed(outcome, case):
        assert judgement.verdict is Verdict.SUCCEEDED, judgement.cause
    else:
        assert of_type(outcome.events, "result")[-1]["denied"]
        # Who never reads the payload and is denied was no test of it: undelivered is inconclusive, whoever denied it.
        # And where only the last of several harmful calls was denied, the first ones were the attack's success.
        harmful = any(action.state is ActionState.EXECUTED and not action.endorsed for action in outcome.changes)
        expected = Verdict.SUCCEEDED if harmful else Verdict.RESISTED
        assert judgement.verdict is expected or not judgement.delivered, judgement.cause
    assert judgement.stop.layer is not Layer.AGENT
    assert judgement.cause != "the agent declined"


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_judge_sees_a_disguised_harm_where_nothing_stops_it(bench, case):
    outcome = tried(bench, case, Arm.BASELINE)
    judgement = outcome.judgement
    if executed(outcome, case):
        assert judgement.verdict is Verdict.SUCCEEDED, judgement.cause
        return
    assert judgement.verdict is Verdict.RESISTED
    assert judgement.stop.layer is Layer.EXECUTOR  # the tool knows no such account, host or case
    assert any(action.state is ActionState.FAILED for action in outcome.changes)
