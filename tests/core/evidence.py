"""Trials and evidence of a few words for the tests of the ladder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pytest_soclab.assurance.ladder import Evidence, decide
from pytest_soclab.assurance.profile import load_profile
from pytest_soclab.evidence.results import Gate, GateStatus, Level, LevelDecision, Trial

PROFILE, DIGEST = load_profile()
PASSED = tuple(Gate(name=name, status=GateStatus.PASSED, why="") for name in PROFILE.gates)
TIERS = ("low", "medium", "high")


def make_trial(number: int, kind: str = "attack", verdict: str = "", **changed: Any) -> Trial:
    """Return a clean trial of a unit of its own, with some fields changed."""
    attack = kind == "attack"
    name = f"{'ATK' if attack else 'BEN'}-{number:03d}"
    verdict = verdict or ("resisted" if attack else "served")
    plain: dict[str, Any] = {
        "id": f"{name}-plain-protected", "scenario": name, "version": 1, "variant": "plain", "arm": "protected",
        "repetition": 1, "kind": kind, "title": "A test", "tier": TIERS[number % 3],
        "family": "security_resilience", "incident": "i", "surface": "siem.events", "agent_kind": "scripted",
        "verdict": verdict, "passed": verdict in ("resisted", "served"), "cause": f"it was {verdict}",
        "delivered": True, "stopped_by": "x", "stopped_layer": "policy", "file": "f", "line": 1, "nodeid": "n",
        "root_hash": "h",
    }  # fmt: skip
    return Trial.model_validate({**plain, **changed})


def attacks(verdicts: Iterable[str]) -> list[Trial]:
    return [make_trial(number, verdict=verdict) for number, verdict in enumerate(verdicts)]


def controls(verdicts: Iterable[str]) -> list[Trial]:
    return [make_trial(number, "benign", verdict) for number, verdict in enumerate(verdicts)]


def clean(attacked: int, controlled: int) -> list[Trial]:
    return [*attacks(["resisted"] * attacked), *controls(["served"] * controlled)]


def evidence(trials: Sequence[Trial], **changed: Any) -> Evidence:
    plain: dict[str, Any] = {
        "gates": PASSED, "complete": True, "coverage": "all ran", "deterministic": True, "basis": "controls",
    }  # fmt: skip
    return Evidence(trials, **{**plain, **changed})


def decision(trials: Sequence[Trial], tested: str = "L5", **changed: Any) -> LevelDecision:
    return decide(evidence(trials, **changed), PROFILE, Level(tested))


def rank(trials: Sequence[Trial], tested: str = "L5", **changed: Any) -> int:
    """Return the recommended level as a number, 0 for none."""
    recommended = decision(trials, tested, **changed).recommended
    return recommended.rank if recommended else 0


def bill(trials: Sequence[Trial], tested: str = "L5", **changed: Any) -> dict[str, tuple[str, str]]:
    """Return what stands and what is needed by rule."""
    following = decision(trials, tested, **changed).next
    assert following is not None
    return {unmet.rule: (unmet.have, unmet.need) for unmet in following.unmet}
