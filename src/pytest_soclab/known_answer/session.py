"""The gate and the score as calls, for the command line, for pytest and for anything else.

`run_gate(GateRequest(baseline=("a/score.md",), candidate=("b/score.md",)))` reads, compares and prints nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_soclab.base.errors import Fault, KnownAnswerError
from pytest_soclab.known_answer.basis.run import ScoredRun
from pytest_soclab.known_answer.comparing.arms import Arm, build_arm
from pytest_soclab.known_answer.comparing.results import GateResult, ScoreResult
from pytest_soclab.known_answer.comparing.statistic import compare, compare_beyond
from pytest_soclab.known_answer.sources import How, Sources, distinct_names

__all__ = ["GateRequest", "How", "run_gate", "run_score"]


@dataclass(frozen=True, slots=True)
class GateRequest:
    """What a gate compares: the runs of both arms, m of each arm (None: a strict majority), how runs are read."""

    baseline: tuple[str, ...]
    candidate: tuple[str, ...]
    baseline_m: int | None = None
    candidate_m: int | None = None
    how: How = field(default_factory=How)


def run_gate(request: GateRequest) -> GateResult:
    """Return the gate of a request. Raises KnownAnswerError where its runs cannot be read or compared."""
    sources = Sources(request.how)
    found: list[tuple[ScoredRun, ...]] = []
    faults: list[Fault] = []
    for name in ("baseline", "candidate"):
        try:
            runs = sources.arm(getattr(request, name), name)
            build_arm(runs, getattr(request, f"{name}_m"), f"--{name}-m")
            found.append(runs)
        except KnownAnswerError as error:
            faults += [fault for fault in error.faults if fault not in faults]
    if faults:
        raise KnownAnswerError(*faults)
    before, after = distinct_names(*found)
    baseline = build_arm(before, request.baseline_m, "--baseline-m")
    candidate = build_arm(after, request.candidate_m, "--candidate-m")
    _refuse_empty(baseline)
    items = tuple(compare(baseline.score, candidate.score))
    return GateResult(baseline, candidate, items, compare_beyond(baseline.score.beyond, candidate.score.beyond))


def _refuse_empty(baseline: Arm) -> None:
    """Refuse a baseline without a single verdict: nothing could drop, and the gate would seem to hold."""
    if all(standing.verdict is None for standing in baseline.score.standings.values()):
        score = baseline.score
        raise KnownAnswerError(
            Fault(
                f"a baseline that scores no item in {score.m} of its {score.n} runs",
                baseline.runs[0].source,
                expected="at least one item with a verdict",
                remedy="are these the right runs?",
            )
        )


def run_score(references: tuple[str, ...], m: int | None, how: How) -> ScoreResult:
    """Return the scored runs, and their arm where there are several. Raises KnownAnswerError."""
    (runs,) = distinct_names(Sources(how).arm(references, "score"))
    arm = build_arm(runs, m, "--m")
    return ScoreResult(runs, arm if len(runs) > 1 else None)
