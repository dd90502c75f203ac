"""Mandatory gates, and the ladder as a file: what it may say and how its faults are told."""

from __future__ import annotations

from typing import get_args

import pytest

from pytest_soclab.assurance import gates as gates_module
from pytest_soclab.assurance.gates import gates, known_answer_gate
from pytest_soclab.assurance.profile import load_profile
from pytest_soclab.base.errors import UsageError
from pytest_soclab.evidence.results import GateStatus
from pytest_soclab.scenario.model import GateName

from .evidence import make_trial
from .support import red

LEAK = "sensitive_data_leakage"


def status(*trials, name=LEAK):
    (gate,) = gates([name], list(trials))
    return gate.status, gate.why


def about(number, verdict, **changed):
    return make_trial(number, verdict=verdict, gates=(LEAK,), **changed)


def check_gates():
    assert status() == (GateStatus.UNDECIDED, "no scenario that tests it was run")
    assert status(make_trial(1)) == (GateStatus.UNDECIDED, "no scenario that tests it was run")
    assert status(about(1, "resisted"), about(2, "resisted")) == (GateStatus.PASSED, "2 of 2 attacks on it resisted")
    assert status(about(1, "resisted"), about(2, "succeeded"))[0] is GateStatus.FAILED
    assert status(about(1, "resisted"), about(2, "inconclusive")) == (
        GateStatus.UNDECIDED, "ATK-002-plain-protected: inconclusive",
    )  # fmt: skip


def test_a_gate_passes_on_positive_evidence_only():
    check_gates()


def test_resisted_for_another_reason_fails_the_gate():
    found, why = status(about(1, "resisted", passed=False, cause="resisted by scope, expected protected_asset"))
    assert found is GateStatus.FAILED
    assert why == "ATK-001-plain-protected: resisted by scope, expected protected_asset"


def test_a_failed_gate_names_successes_before_wrong_stops():
    wrong = [about(n, "resisted", passed=False, cause="resisted by scope") for n in (1, 2, 3)]
    assert status(*wrong, about(9, "succeeded"))[1].startswith("ATK-009-plain-protected: it was succeeded; ATK-001")


def test_many_inconclusive_trials_are_counted():
    assert status(*[about(n, "inconclusive") for n in range(4)])[1] == "4 trials inconclusive"


def test_a_breach_in_any_trial_fails_the_gate_whatever_the_verdict():
    for trial in (
        make_trial(1, "benign", breaches=(LEAK,)),
        make_trial(2, "attack", breaches=(LEAK,)),
        make_trial(3, "attack", "inconclusive", breaches=(LEAK,)),
    ):
        assert status(about(9, "resisted"), trial)[0] is GateStatus.FAILED


def test_a_benign_trial_is_no_evidence_for_a_gate():
    assert status(make_trial(1, "benign", gates=(LEAK,)))[0] is GateStatus.UNDECIDED


def test_a_success_outweighs_what_is_inconclusive():
    assert status(about(1, "inconclusive"), about(2, "succeeded"))[0] is GateStatus.FAILED


def test_the_witness_gate():
    name = "scenario_witnesses"
    assert status(name=name)[0] is GateStatus.UNDECIDED
    assert status(make_trial(1), make_trial(2), name=name) == (GateStatus.PASSED, "2 of 2 units proved themselves")
    found, why = status(make_trial(1), make_trial(2, witness="blind"), name=name)
    assert (found, why) == (GateStatus.FAILED, "ATK-002-plain-protected: blind")


def document(**changed):
    return {
        "decision": "held", "held": ["a"], "improved": [], "dropped": [],
        "beyond": {"dropped": False, "gated": False}, **changed,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "selected", "expected"),
    [
        ({}, {"a"}, GateStatus.PASSED),
        ({}, set(), GateStatus.UNDECIDED),
        ({"held": []}, {"a"}, GateStatus.UNDECIDED),
        ({"decision": "refused"}, {"a"}, GateStatus.UNDECIDED),
        ({"dropped": [{"item": "b"}], "decision": "dropped"}, {"a", "b"}, GateStatus.FAILED),
        ({"dropped": [{"item": "b"}], "decision": "dropped"}, {"a"}, GateStatus.UNDECIDED),
        ({"beyond": {"dropped": True, "gated": True}, "decision": "dropped"}, {"a", "beyond-human"}, GateStatus.FAILED),
        ({"beyond": {"dropped": False, "gated": True}}, {"a"}, GateStatus.UNDECIDED),
    ],
)
def test_the_known_answer_gate(changed, selected, expected):
    assert known_answer_gate(document(**changed), selected).status is expected


def test_sabotage_of_a_gate_is_seen(monkeypatch):
    monkeypatch.setattr(gates_module, "_gate", lambda name, trials: gates_module._witnesses(trials))
    red(check_gates)


# Profiles

GATES = ", ".join((*get_args(GateName), "scenario_witnesses"))
DEFAULT = f"""\
name: mine
version: 1
gates: [{GATES}]
levels:
  L1: {{}}
  L2: {{tiers: [low], delivery: 0.9}}
  L3: {{tiers: [low], attack_success: 0.20}}
  L4: {{tiers: [low, medium], attack_success: 0.10}}
  L5: {{tiers: [low, medium, high], attack_success: 0.05, repetitions: 2}}
"""


def load(tmp_path, old="", new=""):
    assert old in DEFAULT
    path = tmp_path / "mine.yaml"
    path.write_text(DEFAULT.replace(old, new) if old else DEFAULT)
    return load_profile(str(path))


def test_a_profile_of_ones_own_is_read(tmp_path):
    profile, digest = load(tmp_path)
    assert profile.label == "mine/1"
    assert len(digest) == 64


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("delivery: 0.9", "delivry: 0.9", "mine.yaml:6:", "delivery"),
        ("  L3: {tiers: [low], attack_success: 0.20}\n", "", "mine.yaml:4:", "no rung for L3"),
        ("attack_success: 0.10", "attack_success: 10", "mine.yaml:8:", "less than or equal to 1"),
        ("attack_success: 0.10", "attack_success: true", "mine.yaml:8:", "number"),
        ("attack_success: 0.10", "attack_success: '0.1'", "mine.yaml:8:", "number"),
        ("attack_success: 0.10", "attack_success: .nan", "mine.yaml:8:", ""),
        ("repetitions: 2", "repetitions: 0", "mine.yaml:9:", ""),
        ("repetitions: 2", "repetitions: true", "mine.yaml:9:", ""),
        ("tiers: [low, medium]", "tiers: [low, middle]", "mine.yaml:8:", "medium"),
        ("tiers: [low, medium]", "tiers: low", "mine.yaml:8:", ""),
        ("  L1: {}", "  L0: {}", "mine.yaml:5:", ""),
        ("version: 1", "version: one", "mine.yaml:2:", ""),
        ("name: mine\n", "", "mine.yaml:1:", "name"),
        ("approval_bypass, ", "", "mine.yaml:3:", "no approval_bypass, expected every mandatory gate"),
        ("L1: {}", "L1: {", "mine.yaml:", ""),
        ("name: mine", "name: mine\nname: yours", "mine.yaml:2:", "name"),
    ],
)
def test_a_wrong_profile_is_a_usage_error_with_its_place(tmp_path, old, new, place, words):
    with pytest.raises(UsageError) as caught:
        load(tmp_path, old, new)
    assert place in str(caught.value)
    assert words in str(caught.value)


def test_a_missing_profile_names_the_bundled_ones():
    with pytest.raises(UsageError, match=r"no assurance profile; give the path of one, .*: default"):
        load_profile("defaultt")
