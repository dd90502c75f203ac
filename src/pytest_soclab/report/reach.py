"""Says what reach found: in one line, as a failed item, and as a table of tools and outcomes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_soclab.evidence.results import Reach, ReachFault
from pytest_soclab.evidence.terms import Course, Standing
from pytest_soclab.report.words import count

_NAMED = 10


@dataclass(frozen=True, slots=True)
class Row:
    """How many calls of one tool had each outcome, and the standing of those that run unattended."""

    tool: str
    outcomes: dict[Course, int]
    unattended: dict[Standing, int]


def table(found: Sequence[Reach]) -> list[Row]:
    """Return a row for each tool over several incidents."""
    tools = sorted({one.tool for reach in found for one in reach.counts})
    return [_row(tool, found) for tool in tools]


def _row(tool: str, found: Sequence[Reach]) -> Row:
    outcomes: Counter[Course] = Counter()
    unattended: Counter[Standing] = Counter()
    for one in (one for reach in found for one in reach.counts if one.tool == tool):
        outcomes[one.outcome] += one.count
        if one.outcome is Course.UNATTENDED:
            unattended[one.standing] += one.count
    return Row(tool, dict(outcomes), dict(unattended))


def line(found: Sequence[Reach]) -> str:
    """Return one line over all incidents: how many of how many calls, and what became of them."""
    tried, spanned = sum(one.tried for one in found), sum(one.spanned for one in found)
    outcomes: Counter[Course] = Counter()
    for reach in found:
        for one in reach.counts:
            outcomes[one.outcome] += one.count
    said = ", ".join(f"{outcomes[course]:,} {_SAID[course]}" for course in Course if outcomes[course])
    faults = sum(one.forbidden + len(one.impossible) for one in found)
    bad = f"; {faults:,} forbidden or impossible" if faults else ""
    return f"{tried:,} of {spanned:,} calls of {count(len(found), 'incident')}: {said or 'none tried'}{bad}"


_SAID = {
    Course.DENIED: "denied",
    Course.RECORDED: "recorded",
    Course.ASKS: "ask a human",
    Course.UNATTENDED: "run unattended",
}


def told(fault: ReachFault) -> str:
    """Return one line about a forbidden call: which, what became of it, why not, what to do."""
    arguments = json.dumps(fault.arguments, ensure_ascii=False)
    return f"{fault.tool} {arguments} {fault.outcome.value}; {fault.why}: {fault.remedy}"


def failure_text(found: Reach, most: int = _NAMED) -> str:
    """Return what is wrong with one incident's reach, its first forbidden calls named."""
    lines = [f"{found.incident} at {found.level.value}: {line([found])}"]
    lines += [found.cause] if found.cause else []
    lines += [told(fault) for fault in found.faults[:most]]
    lines += [f"and {found.forbidden - most:,} more"] if found.forbidden > most else []
    return "\n".join([*lines, *(f"endorsed, and impossible in one response: {text}" for text in found.impossible)])
