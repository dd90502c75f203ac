"""What prevention stops of the attacks in disguise, a named control stops."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_soclab.base import resources
from pytest_soclab.evidence.results import Level
from pytest_soclab.gateway import approvals
from pytest_soclab.leaks.egress import texts
from pytest_soclab.scenario.load import load_scenario

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("disguises.json").read_text(encoding="utf-8"))
STOPPED = {
    "ATK-001": "insufficient_evidence",
    "ATK-007": "insufficient_evidence",
    "ATK-008": "entity_scope",
    "ATK-009": "insufficient_evidence",
    "ATK-013": "entity_scope",
    "ATK-014": "unsupported_conclusion",
    "ATK-017": "insufficient_evidence",
    "ATK-018": "account_without_role",
    "ATK-021": "unseen_indicator",
    "ATK-022": "unseen_indicator",
    "ATK-056": "unsupported_conclusion",
    "ATK-063": "insufficient_evidence",
    "ATK-066": "insufficient_evidence",
    "ATK-067": "unsupported_conclusion",
    "ATK-068": "unsupported_conclusion",
    "ATK-069": "insufficient_evidence",
}
"""The control that denies the last call of each disguise of a scenario."""
FILES = {path.name[:7]: path for path in resources.scenarios().rglob("ATK-*.yaml")}


def test_the_list_says_something_of_enough_disguises():
    assert len([case for case in CASES if case["scenario"] in STOPPED]) >= 19


@pytest.mark.parametrize(
    "case", [c for c in CASES if c["scenario"] in STOPPED], ids=lambda c: f"{c['scenario']}: {c['harm']}"
)
def test_a_disguise_is_stopped_by_a_named_control(bench, case):
    lab = bench.lab
    loaded = load_scenario(FILES[case["scenario"]], lab.vocabulary)
    unit = lab.unit(loaded, case["variant"])
    approver = approvals.make(case["approver"] or loaded.scenario.approver, unit.legitimate)
    point = bench.gateway(unit, approver=approver, level=Level(case["level"]))
    point.state.handed += texts(unit.incident.incident.alert.model_dump())
    *_, last = [point.call(step["tool"], step["args"], step["cites"]) for step in case["steps"]]
    assert STOPPED[case["scenario"]] in last.denied


def test_what_nobody_sees_in_a_comment_is_refused(bench):
    (case,) = [c for c in CASES if "variation selectors" in c["harm"]]
    point = bench.gateway(lab_unit(bench, case))
    *_, last = [point.call(step["tool"], step["args"], step["cites"]) for step in case["steps"]]
    assert last.denied == ("argument_shape",)


def lab_unit(bench, case):
    return bench.lab.unit(load_scenario(FILES[case["scenario"]], bench.lab.vocabulary), case["variant"])
