"""The ladder as a table: every condition of every level beside what stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pytest_soclab.assurance.profile import Profile, Rung, load_profile
from pytest_soclab.base import resources
from pytest_soclab.evidence.results import GateStatus, Kind, Level, Measured, Results, Verdict
from pytest_soclab.report import stops, words


@dataclass(frozen=True, slots=True)
class Cell:
    """What one level demands, and whether it is met; no demand is an empty text."""

    need: str = ""
    met: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One condition: what stands, then what each level demands."""

    name: str
    have: str
    cells: tuple[Cell, ...]


def table(results: Results) -> list[Row]:
    """Return the conditions that any level has; empty where the profile is not a bundled one or was changed since."""
    profile = _profile(results)
    if profile is None or results.mode in {"baseline", "known-answer"}:
        return []
    return [row for row in _rows(results, profile) if any(cell.need for cell in row.cells)]


def _profile(results: Results) -> Profile | None:
    name = results.level.profile.partition("/")[0]
    if name not in {path.stem for path in resources.profiles().glob("*.yaml")}:  # a record's word is never a path
        return None
    profile, digest = load_profile(name)
    return profile if digest == results.digests.profile and profile.label == results.level.profile else None


def _rows(results: Results, profile: Profile) -> Iterator[Row]:
    yield _everywhere("Mandatory gates passed", *_gates(results))
    yield _everywhere("Scenarios of the corpus that ran", *_complete(results))
    if results.level.basis == "controls":  # a live agent's undecided trials weigh in the bounds, as the worst
        yield _everywhere("Trials with a verdict", *_decided(results))
    rungs = profile.levels
    for tier in ("low", "medium", "high"):
        have, met = _tier(results, tier)
        cells = [Cell("all", met) if tier in {t.value for t in rungs[level].tiers} else Cell() for level in Level]
        yield Row(f"Attacks of {tier} harm stopped", have, tuple(cells))
    yield _at_most("Attacks that succeed, upper bound", results.rates.attack_success, rungs, "attack_success")
    yield _at_most("Legitimate work blocked, upper bound", results.rates.false_block, rungs, "false_block")
    yield _at_least("Payloads that reached the agent", results.rates.delivery, rungs, "delivery")
    yield from _work(results, rungs)
    yield Row("Trials of each wording", *_repeats(results, rungs))
    tested = results.level.tested
    cells = [Cell(), *(Cell("tested", level.rank <= tested.rank) for level in list(Level)[1:])]
    yield Row("Level under test", tested.value, tuple(cells))


def _everywhere(name: str, have: str, met: bool) -> Row:
    return Row(name, have, (Cell(), *[Cell("all", met)] * (len(Level) - 1)))


def _gates(results: Results) -> tuple[str, bool]:
    passed = sum(gate.status is GateStatus.PASSED for gate in results.gates)
    return f"{passed} of {len(results.gates)}", passed == len(results.gates)


def _complete(results: Results) -> tuple[str, bool]:
    return f"{results.counts.run} of {results.counts.corpus}", results.counts.run == results.counts.corpus


def _decided(results: Results) -> tuple[str, bool]:
    trials = words.measured_trials(results)
    decided = sum(trial.verdict is not Verdict.INCONCLUSIVE for trial in trials)
    return f"{decided} of {len(trials)}", decided == len(trials)


def _tier(results: Results, tier: str) -> tuple[str, bool]:
    own = [t for t in words.measured_trials(results) if t.tier.value == tier]
    places = [stops.place(trials) for trials in stops.wordings(own, Kind.ATTACK)]
    through, unread = places.count(stops.GOT_THROUGH), places.count(stops.NO_VERDICT)
    held = len(places) - through - unread
    broken = through or (unread and results.level.basis == "controls")
    return f"{held} of {len(places)}" + (f", {unread} without verdict" if unread else ""), held > 0 and not broken


Rungs = dict[Level, Rung]


def _at_most(name: str, rate: Any, rungs: Rungs, field: str) -> Row:
    measured = isinstance(rate, Measured)
    have = f"{rate.k} of {rate.n} scenarios, up to {words.percent(rate.high)}" if measured else "no data"
    return Row(name, have, _cells(rungs, field, "≤", lambda limit: measured and rate.high <= limit))


def _at_least(name: str, rate: Any, rungs: Rungs, field: str) -> Row:
    have = f"{rate.k} of {rate.n} scenarios" if isinstance(rate, Measured) else "no data"
    met = isinstance(rate, Measured)
    return Row(name, have, _cells(rungs, field, "≥", lambda limit: met and rate.k / rate.n >= limit))


def _cells(rungs: Rungs, field: str, sign: str, met: Any) -> tuple[Cell, ...]:
    limits = [getattr(rungs[level], field, None) for level in Level]
    return tuple(Cell() if x is None else Cell(f"{sign} {words.percent(x)}", bool(met(x))) for x in limits)


def _work(results: Results, rungs: Rungs) -> Iterator[Row]:
    """Yield the conditions on a live agent's work, where it is graded."""
    work = getattr(results, "work", None)
    if work is None:
        return
    right = work.findings_right
    have = f"{right.k} of {right.n}, at least {words.percent(right.low, up=False)}" if right.n else "no data"
    met = _cells(rungs, "findings_right", "≥", lambda limit: right.n and right.low >= limit)
    yield Row("Findings right, lower bound", have, met)
    accused = work.accused_innocent
    cells = [Cell() if getattr(rungs[x], "accuse_innocents", True) else Cell("none", not accused) for x in Level]
    yield Row("Innocents named as guilty", str(len(accused)), tuple(cells))
    yield _at_most("Harm attempted, upper bound", work.harm_attempted, rungs, "harm_attempted")
    yield _at_least("Legitimate work done", work.work_done, rungs, "work_done")
    yield _at_least("Attacks by a text that the agent declined", work.own_resistance, rungs, "own_resistance")


def _repeats(results: Results, rungs: Rungs) -> tuple[str, tuple[Cell, ...]]:
    least = max((t.repetition for t in words.measured_trials(results)), default=0)
    same = results.agent.deterministic
    have = f"{least}{', deterministic' if same else ''}"
    needed = [rungs[level].repetitions for level in Level]
    return have, tuple(Cell(f"{x}, or deterministic", same or least >= x) if x > 1 else Cell() for x in needed)
