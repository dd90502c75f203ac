"""The statistic: found in m of n runs, and what drops between two arms. Pure functions on values, integers only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from pytest_soclab.base.errors import Fault, KnownAnswerError
from pytest_soclab.known_answer.basis.verdicts import RANK, Verdict, word


@dataclass(frozen=True, slots=True)
class Standing:
    """An arm's verdict on one item, how many of its runs reach or beat it, and how many runs the arm has.

    Without a verdict (None), `reached` counts the runs that scored the item at all.
    """

    verdict: Verdict | None
    reached: int
    of: int

    def __str__(self) -> str:
        if self.verdict is None:
            return f"no verdict ({self.reached} of {self.of} scored it)"
        return f"{word(self.verdict)} {self.reached} of {self.of}"


@dataclass(frozen=True, slots=True)
class ArmScore:
    """An arm: the verdict of every item that one of its n runs names, at m of n, and its beyond-human count."""

    m: int
    n: int
    standings: Mapping[str, Standing]
    scored: Mapping[str, int]
    beyond: int | None


class Outcome(Enum):
    """What became of one item between baseline and candidate."""

    DROPPED = "dropped"
    IMPROVED = "improved"
    HELD = "held"
    NOT_GATED = "not_gated"


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """One item compared: what became of it, both arms' standings, and how many baseline runs scored it."""

    item: str
    outcome: Outcome
    baseline: Standing
    candidate: Standing
    scored: int


@dataclass(frozen=True, slots=True)
class BeyondOutcome:
    """The beyond-human counts compared; not gated where too few baseline runs state one."""

    gated: bool
    baseline: int | None
    candidate: int | None
    dropped: bool


def majority(n: int) -> int:
    """Return the least number of runs that is more than half of n."""
    return n // 2 + 1


def choose_m(m: int | None, n: int, name: str) -> int:
    """Return m, a strict majority of n where none is given. Raises KnownAnswerError unless 1 <= m <= n."""
    if m is None:
        return majority(n)
    if not 1 <= m <= n:
        runs = "1 run" if n == 1 else f"{n} runs"
        raise KnownAnswerError(Fault(f"m is {m} with {runs}", field=name, expected=f"1 to {n}", remedy="change m"))
    return m


def reached_by(values: Iterable[int], m: int) -> int | None:
    """Return the largest number that at least m of `values` reach; None for fewer than m values."""
    ordered = sorted(values, reverse=True)
    return ordered[m - 1] if len(ordered) >= m else None


def stand(verdicts: Sequence[Verdict], m: int, n: int) -> Standing:
    """Return the best word that at least m of an arm's n runs reach; `verdicts` are those of the runs that scored."""
    ranks = [RANK[verdict] for verdict in verdicts]
    rank = reached_by(ranks, m)
    if rank is None:
        return Standing(None, len(ranks), n)
    return Standing(_BY_RANK[rank], sum(other >= rank for other in ranks), n)


_BY_RANK = {rank: verdict for verdict, rank in RANK.items()}


def score_arm(runs: Sequence[Mapping[str, Verdict | None]], beyond: Sequence[int | None], m: int) -> ArmScore:
    """Return the arm of `runs`, each a mapping of item to verdict, with one beyond-human count (or None) a run."""
    gathered: dict[str, list[Verdict]] = {}
    for run in runs:
        for item, verdict in run.items():
            found = gathered.setdefault(item, [])
            if verdict is not None:
                found.append(verdict)
    n = len(runs)
    standings = {item: stand(verdicts, m, n) for item, verdicts in gathered.items()}
    scored = {item: len(verdicts) for item, verdicts in gathered.items()}
    return ArmScore(m, n, standings, scored, reached_by((count for count in beyond if count is not None), m))


def compare(baseline: ArmScore, candidate: ArmScore) -> list[ItemOutcome]:
    """Return the outcome of every item of either arm, the baseline's items first, each in the order of its files."""
    items = dict.fromkeys([*baseline.standings, *candidate.standings])
    return [_compare(item, baseline, candidate) for item in items]


def _compare(item: str, baseline: ArmScore, candidate: ArmScore) -> ItemOutcome:
    before = baseline.standings.get(item, Standing(None, 0, baseline.n))
    after = candidate.standings.get(item, Standing(None, 0, candidate.n))
    return ItemOutcome(item, _outcome(before, after), before, after, baseline.scored.get(item, 0))


def _outcome(before: Standing, after: Standing) -> Outcome:
    if before.verdict is None:
        return Outcome.NOT_GATED
    if after.verdict is None or RANK[after.verdict] < RANK[before.verdict]:
        return Outcome.DROPPED
    return Outcome.IMPROVED if RANK[after.verdict] > RANK[before.verdict] else Outcome.HELD


def compare_beyond(baseline: int | None, candidate: int | None) -> BeyondOutcome:
    """Return what became of the beyond-human count: it drops when the candidate's is smaller or missing."""
    if baseline is None:
        return BeyondOutcome(False, None, candidate, False)
    return BeyondOutcome(True, baseline, candidate, candidate is None or candidate < baseline)
