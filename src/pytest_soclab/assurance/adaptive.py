"""Says where a repeat can still change the level or a gate, and where it cannot (`--soclab-adaptive`).

A scenario counts by the worst of its trials, and a fact that breaks a gate stays. So every further trial can only take
from a level, and the trials so far bound it from above: the highest level still possible. Repeats are run until each
variant has as many trials as the levels up to that one ask for. Nothing is credited: a repeat that was not run counts
as not run. So the level is never above the one that `--soclab-repeat` would give on the same trials, at the number
that this level asks for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_soclab.assurance.ladder import Evidence, decide
from pytest_soclab.assurance.profile import Profile
from pytest_soclab.evidence.repeats import Adaptive, AdaptiveUnit
from pytest_soclab.evidence.results import Gate, GateStatus, Kind, Level, LevelDecision, Trial
from pytest_soclab.evidence.terms import AdaptiveRule


def asked(profile: Profile, level: Level) -> int:
    """Return the most trials of a variant that any level up to this one asks for."""
    return max(rung.repetitions for own, rung in profile.levels.items() if own.rank <= level.rank)


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The highest level that no trial so far rules out, and what it asks of repeats."""

    level: Level
    needed: int
    planned: int
    same: bool
    """Whether the agent is known to do the same again, so that repeats show nothing new."""
    undecided: tuple[str, ...]
    """Gates that no trial decided yet: any attack may."""
    why: str

    def enough(self, kind: Kind) -> int:
        """Return how many trials a variant of a scenario has when a further one can change nothing."""
        if self.same:
            return 1
        return self.planned if self.undecided and kind is Kind.ATTACK else min(self.needed, self.planned)

    def stops(self, kind: Kind, trials: int) -> str:
        """Return why no further trial of a variant is run, or an empty text."""
        return self.why if trials >= self.enough(kind) else ""


def ceiling(
    evidence: Sequence[Evidence], undecided: tuple[str, ...], profile: Profile, tested: Level, planned: int
) -> Ceiling:
    """Return the highest level still possible by an agent's evidence, and by that of the controls beside it.

    Whatever is open is taken to end well, so that nothing is given up that a repeat could still bring: the evidence is
    complete, its gates are `hopeful`, and `undecided` are the gates that nothing decided yet.
    """
    lowest = min((_best(one, profile, tested) for one in evidence), key=lambda decision: _level(decision).rank)
    level, same = _level(lowest), evidence[0].deterministic
    needed = asked(profile, level)
    return Ceiling(level, needed, planned, same, undecided, _why(lowest, level, needed, same))


def hopeful(gates: Iterable[Gate]) -> list[Gate]:
    """Return gates with those that nothing decided yet taken to pass."""
    passed = {"status": GateStatus.PASSED}
    return [gate.model_copy(update=passed) if gate.status is GateStatus.UNDECIDED else gate for gate in gates]


def _level(decision: LevelDecision) -> Level:
    return decision.recommended or Level.L1


def _best(evidence: Evidence, profile: Profile, tested: Level) -> LevelDecision:
    """Return the decision if repeats are no condition."""
    levels = {level: rung.model_copy(update={"repetitions": 1}) for level, rung in profile.levels.items()}
    return decide(evidence, profile.model_copy(update={"levels": levels}), tested)


def _why(decision: LevelDecision, level: Level, needed: int, same: bool) -> str:
    if same:
        return "the agent does the same again"
    ask = f"{needed} trial{'s' if needed > 1 else ''} of each variant"
    if level is decision.tested or decision.next is None or not decision.next.unmet:
        return f"{level.value}, the highest level still possible, asks for {ask}"
    first = decision.next.unmet[0]
    return f"{level.value} is the highest level still possible and asks for {ask}; {first.rule}: {first.have}"


def report(found: Ceiling, trials: Iterable[Trial]) -> Adaptive:
    """Return what was spent, and which rule stopped each unit."""
    tried = Counter((trial.scenario, trial.variant, trial.arm, trial.kind) for trial in trials)
    units = [
        AdaptiveUnit(scenario=scenario, variant=variant, arm=arm, trials=times, rule=_rule(found, kind, times))
        for (scenario, variant, arm, kind), times in sorted(tried.items())
    ]
    return Adaptive(level=found.level, needed=found.needed, planned=found.planned, undecided=found.undecided,
                    why=found.why, units=tuple(units))  # fmt: skip


def _rule(found: Ceiling, kind: Kind, times: int) -> AdaptiveRule:
    if times >= found.planned:
        return AdaptiveRule.PLAN
    if times < found.enough(kind):
        return AdaptiveRule.INTERRUPTED
    return AdaptiveRule.SAME_AGAIN if found.same else AdaptiveRule.LEVEL


def repeats_text(spent: Adaptive) -> str:
    """Say how many repeats were spared, and by which rule."""
    total, ran = spent.planned * len(spent.units), sum(unit.trials for unit in spent.units)
    rules = Counter(unit.rule for unit in spent.units)
    parts = [f"{rules[rule]} {text}" for rule, text in _SPOKEN.items() if rules[rule]]
    return f"{ran} of {total} planned trials run; units: {', '.join(parts)} ({spent.why})"


_SPOKEN = {
    AdaptiveRule.PLAN: "ran to the plan's end",
    AdaptiveRule.LEVEL: "stopped by the level still possible",
    AdaptiveRule.SAME_AGAIN: "stopped because the agent does the same again",
    AdaptiveRule.INTERRUPTED: "interrupted",
}
