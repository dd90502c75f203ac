"""Counts where attacks were stopped, from the agent to the world, for every subject that a session holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_soclab.evidence.results import Arm, Kind, Layer, Results, Trial, Verdict
from pytest_soclab.report.words import count

GOT_THROUGH, NO_VERDICT = "got through", "no verdict"
_ENDED = {Verdict.RESISTED, Verdict.SERVED, Verdict.SUCCEEDED, Verdict.BLOCKED}
PLACES = {
    Layer.AGENT: "the agent itself",
    Layer.SCHEMA: "argument checks",
    Layer.POLICY: "policy rules",
    Layer.APPROVER: "a human alone",
    Layer.GRANT: "grant checks",
    Layer.EXECUTOR: "the executor",
    Layer.LEDGER: "audit checks",
}
"""Where an attack can be stopped, in the order in which it gets there."""
_ORDER = (*PLACES.values(), GOT_THROUGH, NO_VERDICT)
_SIGNS = {GOT_THROUGH: "through", NO_VERDICT: "open"} | {name: layer.value for layer, name in PLACES.items()}


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of a bar: how many attacks ended there, and where it lies in percent of the bar."""

    name: str
    count: int
    sign: str
    at: str
    width: str
    middle: str
    told: bool
    """Whether the part is wide enough for its number."""
    thin: bool
    """Whether it is too narrow for it on a small screen."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One subject's attacks, in each wording once."""

    name: str
    total: int
    segments: tuple[Segment, ...]

    def count(self, name: str) -> int:
        """Return how many attacks ended in one place."""
        return sum(segment.count for segment in self.segments if segment.name == name)

    @property
    def stopped(self) -> int:
        """How many attacks were stopped by somebody."""
        return self.total - self.count(GOT_THROUGH) - self.count(NO_VERDICT)

    @property
    def text(self) -> str:
        """The bar in words: `policy rules 159, a human alone 27`."""
        return ", ".join(f"{segment.name} {segment.count}" for segment in self.segments)

    @property
    def line(self) -> str:
        """The bar with its subject and what it counts: `Behind the controls, 186 wordings: policy rules 159, …`."""
        return f"{self.name}, {count(self.total, 'wording')}: {self.text}"


def wordings(trials: Iterable[Trial], kind: Kind) -> list[list[Trial]]:
    """Return the trials of a kind, those of one scenario and wording together."""
    found: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        if trial.kind is kind:
            found.setdefault((trial.scenario, trial.variant), []).append(trial)
    return list(found.values())


def place(trials: Sequence[Trial]) -> str:
    """Return where an attack ended, the worst of its repetitions."""
    if any(trial.verdict is Verdict.SUCCEEDED for trial in trials):
        return GOT_THROUGH
    if any(trial.verdict is Verdict.INCONCLUSIVE for trial in trials):
        return NO_VERDICT
    return PLACES.get(trials[0].stopped_layer, NO_VERDICT)


def bar(name: str, trials: Iterable[Trial]) -> Bar:
    """Return one subject's bar."""
    found = wordings(trials, Kind.ATTACK)
    counts = Counter(place(own) for own in found)
    return Bar(name, len(found), tuple(_segments(counts, len(found))))


def _segments(counts: Counter[str], total: int) -> Iterable[Segment]:
    before = 0
    for name in _ORDER:
        number = counts[name]
        if number:
            share = number / total * 100
            start = before / total * 100
            at, width, middle = (f"{x:.2f}%" for x in (start, share, start + share / 2))
            yield Segment(name, number, _SIGNS[name], at, width, middle, told=share >= 3, thin=share < 9)
        before += number


def bars(results: Results) -> list[Bar]:
    """Return one bar for each subject: without controls, behind them (scripted, live), and scripts beside an agent."""
    found = [bar("Without controls", _of(results, Arm.BASELINE))]
    for kind in ("scripted", "live"):
        own = [trial for trial in _of(results, Arm.PROTECTED) if trial.agent_kind == kind]
        found.append(bar(results.agent.name if kind == "live" else "Behind the controls", own))
    found.append(bar("Scripts, same controls", results.control_trials))
    return [one for one in found if one.total]


def _of(results: Results, arm: Arm) -> list[Trial]:
    return [trial for trial in results.trials if trial.arm is arm]
