"""The text of score and gate as Markdown, for a comment on a pull request: every foreign text is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pytest_soclab.base.errors import printable
from pytest_soclab.known_answer.comparing.arms import Arm
from pytest_soclab.known_answer.comparing.results import GateResult, ScoreResult, beyond_sentence
from pytest_soclab.known_answer.comparing.statistic import ItemOutcome, Outcome
from pytest_soclab.known_answer.output.text import totals_line

_SPECIAL = re.compile(r"([\\`*_\[\]#!|~$]|(?<=www)\.|:(?=//))", re.IGNORECASE)
_MOST_ROWS = 200  # a comment on a pull request holds 65,536 characters


def gate_markdown(result: GateResult) -> str:
    """Return a gate as Markdown: the decision, both arms, a table of what dropped with its places, then the rest."""
    dropped, held = result.of(Outcome.DROPPED), result.of(Outcome.HELD)
    gated = len(result.items) - len(result.of(Outcome.NOT_GATED))
    lines = [
        f"### Known-answer gate: {'dropped' if result.dropped else 'held'}",
        "",
        f"{len(dropped)} dropped, {len(result.of(Outcome.IMPROVED))} improved, {len(held)} held"
        f" of {gated} items gated; {len(result.of(Outcome.NOT_GATED))} not gated",
        "",
        *_arm("baseline", result.baseline),
        *_arm("candidate", result.candidate),
        f"- {escaped(beyond_sentence(result))}" + (" (dropped)" if result.beyond.dropped else ""),
        *_table("Dropped", dropped, result),
        *_table("Improved", result.of(Outcome.IMPROVED), result),
        *_table("Not gated", result.of(Outcome.NOT_GATED), result),
    ]
    return "\n".join(lines) + "\n"


def score_markdown(result: ScoreResult) -> str:
    """Return scored runs as a Markdown table."""
    rows = [[run.name, run.source, totals_line(run.verdicts.values())] for run in result.runs]
    lines = ["### Known-answer score", "", "| run | source | totals |", "| --- | --- | --- |"]
    lines += [f"| {' | '.join(map(escaped, row))} |" for row in rows]
    notes = [f"- {escaped(run.name)}: {escaped(note)}" for run in result.runs for note in run.notes]
    lines += ["", *notes] if notes else []
    if result.arm:
        lines += ["", *_arm("arm", result.arm)]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Return foreign text so that Markdown shows it as it is: no markup, no HTML, no mention, one line."""
    shown = _SPECIAL.sub(r"\\\1", printable(text))
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "@&#8203;")


def _arm(title: str, arm: Arm) -> list[str]:
    names = ", ".join(escaped(run.name) for run in arm.runs[:20])
    more = f" and {len(arm.runs) - 20} more" if len(arm.runs) > 20 else ""
    verdicts = (standing.verdict for standing in arm.score.standings.values())
    lines = [f"- **{title}** (m = {arm.score.m} of n = {arm.score.n}: {names}{more}): {escaped(totals_line(verdicts))}"]
    return lines + [f"  - {escaped(run.name)}: {escaped(note)}" for run in arm.runs for note in run.notes]


def _table(title: str, items: list[ItemOutcome], result: GateResult) -> Iterable[str]:
    if not items:
        return
    yield from ("", f"**{title} ({len(items)})**", "")
    yield from ("| item | baseline | candidate | where |", "| --- | --- | --- | --- |")
    for item in items[:_MOST_ROWS]:
        where = "; ".join(", ".join(places) for places in result.places(item.item) if places)
        cells = (item.item, str(item.baseline), str(item.candidate), where)
        yield f"| {' | '.join(map(escaped, cells))} |"
    if len(items) > _MOST_ROWS:
        yield f"\n… and {len(items) - _MOST_ROWS} more"
