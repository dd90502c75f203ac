"""Counts how the distinct scenarios of a session ended, and says it in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_soclab.assurance.units import UnitOutcome, collapse
from pytest_soclab.evidence.results import Arm, Kind, Layer, Trial, Verdict


@dataclass(frozen=True, slots=True)
class Tally:
    """How many distinct scenarios of one kind of evidence ended how."""

    total: int
    held: int
    broken: int
    inconclusive: int
    approver_alone: int = 0
    not_attempted: int = 0

    @property
    def decided(self) -> int:
        """How many scenarios reached a verdict."""
        return self.held + self.broken


def tally(trials: Iterable[Trial], kind: Kind) -> Tally:
    """Count the distinct scenarios of a kind, in each arm apart; one held only when every trial of it did."""
    arms: dict[Arm, list[Trial]] = {}
    for trial in trials:
        if trial.kind is kind:
            arms.setdefault(trial.arm, []).append(trial)
    units = [(unit, own) for own in arms.values() for unit in collapse(own, _same(own))]
    ends = Counter(_END[unit.verdict] for unit, _ in units)
    alone = sum(1 for unit, own in units if _END[unit.verdict] == "held" and _rests_on_approver(unit, own))
    return Tally(len(units), ends["held"], ends["broken"], ends["inconclusive"], alone, ends["not attempted"])


def _same(trials: Sequence[Trial]) -> dict[str, str] | None:
    """Return that no live scenario is another one: what a live agent is handed depends on what it asks for."""
    return {} if any(trial.agent_kind == "live" for trial in trials) else None


_END = {
    Verdict.RESISTED: "held",
    Verdict.SERVED: "held",
    Verdict.SUCCEEDED: "broken",
    Verdict.BLOCKED: "broken",
    Verdict.NOT_ATTEMPTED: "not attempted",
    Verdict.INCONCLUSIVE: "inconclusive",
}


def _rests_on_approver(unit: UnitOutcome, trials: Iterable[Trial]) -> bool:
    return any(t.stopped_layer is Layer.APPROVER for t in trials if t.scenario in unit.names)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one kind of agent showed. Scripted and live evidence are never added up."""

    suffix: str
    """` (scripted)` or ` (live)` where a session holds both, else empty."""
    attacks: Tally
    controls: Tally
    trials: Sequence[Trial]


def evidence(trials: Sequence[Trial]) -> list[Evidence]:
    """Return one entry for each kind of agent among the trials, scripted first; one empty entry for no trial."""
    kinds = sorted({t.agent_kind for t in trials}, reverse=True) or ["scripted"]
    found = [(kind, [t for t in trials if t.agent_kind == kind]) for kind in kinds]
    return [
        Evidence(f" ({kind})" if len(kinds) > 1 else "", tally(some, Kind.ATTACK), tally(some, Kind.BENIGN), some)
        for kind, some in found
    ]


def attacks_text(tally_: Tally) -> str:
    """Return `24 of 26 scenarios resisted, 1 succeeded, 1 inconclusive`."""
    return _tally_text(tally_, "resisted", "succeeded")


def controls_text(tally_: Tally) -> str:
    """Return `7 of 8 scenarios served, 1 blocked`."""
    return _tally_text(tally_, "served", "blocked")


def _tally_text(tally_: Tally, held: str, broken: str) -> str:
    if not tally_.total:
        return "none ran"
    scenarios = "scenario" if tally_.total == 1 else "scenarios"
    parts = [f"{tally_.held} of {tally_.total} {scenarios} {held}"]
    parts += [f"{tally_.broken} {broken}"] if tally_.broken else []
    parts += [f"{tally_.not_attempted} not attempted"] if tally_.not_attempted else []
    parts += [f"{tally_.inconclusive} inconclusive"] if tally_.inconclusive else []
    return ", ".join(parts)


def approver_text(tally_: Tally) -> str:
    """Say how many resisted attacks only a human's refusal stopped; empty when nothing was resisted."""
    if not tally_.held:
        return ""
    verb = "rests" if tally_.approver_alone == 1 else "rest"
    return f"{tally_.approver_alone} of {tally_.held} resisted scenarios {verb} on a human alone"


def citations_text(trials: Iterable[Trial]) -> str:
    """Say how many of the state changes that the policy let through cited no evidence of their target."""
    some = list(trials)
    uncited = sum(trial.uncited for trial in some)
    changes = sum(trial.granted_changes for trial in some)
    return f"{uncited} of {changes} state changes cited no evidence of their target" if uncited else ""


def stoppers_text(trials: Iterable[Trial]) -> str:
    """Count the attacks, in each variant once, that each layer stopped: `policy 190, grant 9, approver 11, agent 0`."""
    units: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        if trial.kind is Kind.ATTACK:
            units.setdefault((trial.scenario, trial.variant), []).append(trial)
    found = Counter(unit[0].stopped_layer for unit in units.values() if {_END[t.verdict] for t in unit} == {"held"})
    layers = [layer for layer in Layer if layer not in {Layer.AGENT, Layer.NOTHING} and found[layer]]
    return ", ".join(f"{layer.value} {found[layer]}" for layer in (*layers, Layer.AGENT)) if found else ""
