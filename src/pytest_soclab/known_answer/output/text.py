"""The text of the known-answer commands: pure functions from a result to lines, safe to print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pytest_soclab.base.errors import printable
from pytest_soclab.known_answer.basis.run import ScoredRun
from pytest_soclab.known_answer.basis.verdicts import UNKNOWN, Verdict, credited, totals
from pytest_soclab.known_answer.comparing.arms import Arm
from pytest_soclab.known_answer.comparing.results import GateResult, ScoreResult, beyond_sentence, item_sentence
from pytest_soclab.known_answer.comparing.statistic import Outcome
from pytest_soclab.known_answer.provenance.tags import BY_ANALYSIS, LOOKUP, MIXED, TAGS, counts

_MOST_PLACES = 10


def score_text(result: ScoreResult) -> str:
    """Return the text of a score: every run, then the arm that they make."""
    lines = [line for run in result.runs for line in _run(run)]
    if result.arm:
        lines += ["", *_arm("arm", result.arm)]
    return "\n".join(lines) + "\n"


def gate_text(result: GateResult) -> str:
    """Return the text of a gate: the decision, both arms, then every item that did not hold."""
    held, dropped = result.of(Outcome.HELD), result.of(Outcome.DROPPED)
    improved, open_ = result.of(Outcome.IMPROVED), result.of(Outcome.NOT_GATED)
    gated = len(result.items) - len(open_)
    lines = [
        f"decision: {'dropped' if result.dropped else 'held'}",
        f"  {len(dropped)} dropped, {len(improved)} improved, {len(held)} held of {gated} items gated;"
        f" {len(open_)} not gated" + ("; beyond-human count dropped" if result.beyond.dropped else ""),
        "",
        *_arm("baseline", result.baseline),
        *_arm("candidate", result.candidate),
        *_in_both(result),
    ]
    lines += _section("dropped", (f"{item_sentence(item)}{_where(result, item.item)}" for item in dropped))
    for title, items in (("improved", improved), ("not gated", open_)):
        lines += _section(title, map(item_sentence, items))
    title = "beyond-human count dropped" if result.beyond.dropped else "beyond-human count"
    lines += ["", f"{title}:", f"  {beyond_sentence(result)}"]
    changed = result.tag_changed.items()
    lines += _section(
        "evidence changed (reported, never gated)",
        (f"{printable(item)}  {before} → {after}" for item, (before, after) in changed),
    )
    return "\n".join(lines) + "\n"


def _where(result: GateResult, item: str) -> str:
    """Return the lines that say where a dropped item stands in either arm."""
    lines = ""
    for name, places in zip(("baseline", "candidate"), result.places(item), strict=True):
        shown = ", ".join(map(printable, places[:_MOST_PLACES]))
        more = f" and {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
        lines += f"\n    {name}: {shown or 'stands in no run'}{more}"
    return lines


def _in_both(result: GateResult) -> Iterator[str]:
    """Say which runs stand in both arms: such a gate holds whatever they found."""
    before = {run.source for run in result.baseline.runs}
    both = [printable(run.name) for run in result.candidate.runs if run.source in before]
    if both:
        yield f"note: in both arms: {', '.join(both)}"


def _section(title: str, sentences: Iterable[str]) -> list[str]:
    found = [f"  {sentence}" for sentence in sentences]
    return ["", f"{title} ({len(found)}):", *found] if found else []


def totals_line(verdicts: Iterable[Verdict | None]) -> str:
    """Return totals as a score file writes them: `35 found / … / 0 wrong; credited 51 of 57`."""
    counted = totals(verdicts)
    words = [f"{count} {name}" for name, count in counted.items() if count or name != UNKNOWN]
    return f"{' / '.join(words)}; credited {credited(counted)} of {sum(counted.values())}"


def _run(run: ScoredRun) -> Iterator[str]:
    yield f"{printable(run.name)}  ({run.kind} {printable(run.source)})"
    yield f"  {totals_line(run.verdicts.values())}"
    if run.kind == "key score":
        checked = "agree with the file's own Totals line" if run.totals_checked else "unchecked, no Totals line"
        yield f"  totals: {checked}"
    yield f"  beyond-human: {'not stated' if run.beyond is None else run.beyond}"
    yield from (f"  note: {printable(note)}" for note in run.notes)
    yield from _provenance(run)


def _provenance(run: ScoredRun) -> Iterator[str]:
    if run.kind not in ("key score", "live session"):
        return
    if run.provenance is None:
        yield "  evidence: not read, no evidence.json, report.md or mitre.json beside the score"
        return
    tags = run.provenance.tags
    yield f"  evidence: {_evidence(tags.values())}"
    absent = f"; absent: {', '.join(run.provenance.absent)}" if run.provenance.absent else ""
    yield f"    read: {', '.join(run.provenance.read)}{absent}"
    for name in TAGS:
        items = [printable(item) for item, tag in tags.items() if tag == name]
        if items:
            yield f"    {name} {len(items)} of {len(tags)}: {', '.join(items)}"


def _evidence(tags: Iterable[str]) -> str:
    found = counts(tags)
    total = sum(found.values())
    by_analysis = sum(found[name] for name in sorted(BY_ANALYSIS))
    return f"found by analysis {by_analysis} of {total} credited items, found only by lookup {found[LOOKUP]} of {total}"


def _arm(title: str, arm: Arm) -> Iterator[str]:
    score = arm.score
    names = ", ".join(printable(run.name) for run in arm.runs)
    yield f"{title}: {names} (m = {score.m} of n = {score.n})"
    yield f"  {totals_line(standing.verdict for standing in score.standings.values())}"
    yield f"  beyond-human: {'no count' if score.beyond is None else score.beyond}"
    unchecked = [run for run in arm.runs if run.kind == "key score" and not run.totals_checked]
    if unchecked:
        yield f"  totals unchecked, no Totals line: {', '.join(printable(run.name) for run in unchecked)}"
    if arm.tags:
        mixed = sum(tag == MIXED for tag in arm.tags.values())
        yield f"  evidence: {_evidence(arm.tags.values())}" + (f", mixed {mixed} of {len(arm.tags)}" if mixed else "")
    unread = [printable(run.name) for run in arm.runs if run.kind == "key score" and run.provenance is None]
    if unread:
        yield f"  evidence not read, no evidence.json, report.md or mitre.json beside the score: {', '.join(unread)}"
    for run in arm.runs:
        yield from (f"  note on {printable(run.name)}: {printable(note)}" for note in run.notes)
        if run.provenance and run.provenance.absent:
            yield f"  evidence of {printable(run.name)} lacks {', '.join(run.provenance.absent)}"
