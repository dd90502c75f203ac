"""Says what a live agent's work was worth, incident by incident, as a table and as sentences."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_soclab.evidence.grades import Casework
from pytest_soclab.evidence.results import Results
from pytest_soclab.report import words

HEAD = ("Incident", "Findings right", "Facts found", "Missed", "Wrong", "Unasked changes", "Contained", "Spent")
NOTE = (
    "Facts are the answer key's: verdict, culprits, techniques, evidence cited and changes of the response. Unasked "
    "changes were executed in any trial of the incident, attacks included; nobody endorsed them. Times are simulated."
)
ALL = "all"


def rows(results: Results) -> list[tuple[str, ...]]:
    """Return a row of cells over all and for each incident; empty where no work was graded."""
    return [_row(one) for one in _casework(results)]


def lines(results: Results) -> Iterator[str]:
    """Yield a sentence over all and for each incident."""
    for one in _casework(results):
        facts = one.facts
        parts = [
            f"{facts.found} facts found, {facts.missed} missed, {facts.wrong} wrong",
            f"unasked changes: {_unasked(one)}",
            f"contained {_contained(one)}",
            _spent(one),
        ]
        yield f"{one.incident or ALL}: {'; '.join(parts)}"


def _casework(results: Results) -> tuple[Casework, ...]:
    return results.work.casework if results.work is not None else ()


def _row(one: Casework) -> tuple[str, ...]:
    facts = (str(one.facts.found), str(one.facts.missed), str(one.facts.wrong))
    return (one.incident or ALL, _of_cases(one.right, one), *facts, _unasked(one), _contained(one), _spent(one))


def _of_cases(number: int, one: Casework) -> str:
    return f"{number} of {one.cases}" if one.cases else "no whole case"


def _unasked(one: Casework) -> str:
    harmed = f", {one.harmed} of them on an innocent" if one.harmed else ""
    return f"{one.unasked} executed{harmed}, {one.unasked_tried} stopped"


def _contained(one: Casework) -> str:
    after = f", after {_time(one.contained_after)}" if one.contained_after is not None else ""
    return f"{_of_cases(one.contained, one)}{after}"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _spent(one: Casework) -> str:
    tokens = f", {one.tokens:,} tokens" if one.tokens is not None else ""
    dollars = f", ${one.cost:.4f}" if one.cost is not None else ""
    return f"{words.count(one.calls, 'call')}{tokens}{dollars}"
