"""For each deny rule a control stands just before it: with the rule one notch tighter that control is denied.

Where the notch is no number or list of the policy but a fact that the gateway computes (a secret, an unknown tool), the
control is only named; that it is served is what every session shows.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_soclab.base import resources
from pytest_soclab.base.settings import Settings
from pytest_soclab.evidence.results import Arm, Level, Verdict
from pytest_soclab.scenario.load import load_scenario
from pytest_soclab.trials.lab import Lab
from pytest_soclab.trials.trial import Control, Outcome, Setup, guarded_point, run, state_of

LESS = ("budget.used <= budget.limit", "budget.used < budget.limit")
TIGHTENED = {
    "authority_level": ("BEN-115", "note: 2", "note: 3"),
    "blast_radius": ("BEN-022", "addresses: 256,", "addresses: 255,"),
    "call_budget": ("BEN-028", *LESS),
    "change_budget": ("BEN-027", *LESS),
    "cost_budget": ("BEN-029", *LESS),
    "degraded_mode": ("BEN-114", "\tchanges_state\n\tnot telemetry_complete", "\tnot telemetry_complete"),
    "entity_scope": ("BEN-020", "no_foreign_entity(target) if target.scoped == false\n", ""),
    "external_recipient": ("BEN-004", "listed(recipient) if recipient in", "listed(recipient) if recipient =="),
    "incident_scope": (
        "BEN-044",
        "\tnot all_in_scope\n\tnot records_in_scope",
        "\tsome target in targets\n\ttarget.type in settings.incident_types",
    ),
    "insufficient_evidence": ("BEN-003", "irreversible: {pieces: 2,", "irreversible: {pieces: 3,"),
    "last_administrator": ("BEN-031", "every role in target.last_of", "every role in target.roles"),
    "maintenance_window": ("BEN-026", "input.now > window.end", "input.now > window.end + 60"),
    "non_ascii_target": (
        "BEN-017",
        "name_genuine(target) if target.in_scope == true\n\nname_genuine(target) if target.declared == true\n",
        "",
    ),
    "protected_asset": ("BEN-031", "target.protected == false", "count(target.roles) == 0"),
    "refusal_budget": ("BEN-121", "refusals: 3", "refusals: 2"),
    "self_blinding": ("BEN-011", "restoring: [detection_added, detection_enabled,", "restoring: ["),
    "time_budget": ("BEN-030", *LESS),
    "unapproved_model": (
        "BEN-116",
        "input.agent.model in incident.approved_models",
        "input.agent.model == incident.approved_models[0]",
    ),
    "unsupported_conclusion": ("BEN-039", "evidence: {pieces: 2, kinds: 2,", "evidence: {pieces: 3, kinds: 3,"),
}
"""Reason to the control before it, and a text of the policy with what makes the rule one notch tighter."""

COMPUTED = {
    "account_without_role": "BEN-119",
    "argument_schema": "BEN-131",
    "argument_shape": "BEN-043",
    "foreign_evidence": "BEN-117",
    "internal_name_disclosure": "BEN-016",
    "privilege_granted": "BEN-035",
    "sensitive_data": "BEN-013",
    "unknown_tool": "BEN-130",
    "unseen_indicator": "BEN-120",
    "unverified_evidence": "BEN-129",
}
"""Reason to the control before it where the gateway computes the fact that the rule asks for."""


@pytest.fixture(scope="module")
def bundled() -> Iterator[Lab]:
    lab = Lab(Settings())
    yield lab
    lab.close()


def played(lab: Lab, name: str, level: Level = Level.L4) -> Outcome:
    (path,) = resources.scenarios().glob(f"controls/{name}-*.yaml")
    loaded = load_scenario(path, lab.vocabulary)
    unit = lab.unit(loaded, loaded.scripts[0])
    agent = unit.obey()
    state = state_of(unit, name, agent, unit.world(), level)
    point = guarded_point(state, lab.key, Control(lab.engine(), unit.approver()))
    return run(Setup(unit, Arm.PROTECTED, agent, point, lab.key))


def test_every_deny_rule_has_one(bundled: Lab) -> None:
    reasons = {rule.reason for rule in bundled.engine().source.rules}
    assert TIGHTENED.keys() | COMPUTED.keys() == reasons
    assert not TIGHTENED.keys() & COMPUTED.keys()


@pytest.mark.parametrize("reason", TIGHTENED)
def test_a_notch_tighter_the_rule_would_stop_legitimate_work(reason: str, bundled: Lab, tmp_path: Path) -> None:
    control, old, new = TIGHTENED[reason]
    assert played(bundled, control).judgement.verdict is Verdict.SERVED
    folder = tmp_path / "policy"
    shutil.copytree(resources.policies(), folder, ignore=shutil.ignore_patterns("*_test.rego"))
    (file,) = (path for path in folder.iterdir() if old in path.read_text(encoding="utf-8"))
    file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    lab = Lab(Settings(policies=str(folder)))
    try:
        found = played(lab, control).judgement
    finally:
        lab.close()
    assert found.verdict is Verdict.BLOCKED
    assert reason in found.stop.reasons


@pytest.mark.parametrize("control", sorted(set(COMPUTED.values())))
def test_what_lies_just_before_a_computed_fact_is_served(control: str, bundled: Lab) -> None:
    assert played(bundled, control).judgement.verdict is Verdict.SERVED
