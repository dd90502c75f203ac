"""Renders the CI job summary as GitHub Markdown: verdict first, never larger than its cap.

Text of others is escaped in two ways: `prose` for sentences, `code` for names and places. Neither lets a mention,
link, image, table cell, HTML tag, formula or issue reference through.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pytest_soclab.base.errors import printable
from pytest_soclab.evidence.results import Arm, Gate, GateStatus, Rates, Results, Trial
from pytest_soclab.report import causes, changes, known, sentences, stops, words
from pytest_soclab.report import work as work_

LIMIT = 900_000
"""Bytes of one summary."""
FILE_LIMIT = 1_048_576
"""Bytes. GitHub drops the summary of a step beyond it whole, whoever wrote the rest of the file."""
_LEAST = 2_000
"""Bytes. With less room a cut summary says too little."""
_LONGEST = 400  # characters of one text
_LEAD = 1_500
_COMMAND = 1_200
_CAUSES = 5  # that are told in full
_ZERO_WIDTH = "&#8203;"  # the usual way to break a mention or an issue reference on GitHub
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;", **{c: c + _ZERO_WIDTH for c in "@#-"}}
_ACTIVE = re.compile(r"[&<>$@#]|[\\`*_\[\]{}|~!]|(?<=:)/|(?<=www)\.|(?<=GH)-|^[-+=]|(?<=\d)\.(?=\s)", re.IGNORECASE)


def appended(results: Results, previous: Results | None, present: int, place: str) -> str:
    """Return what may follow `present` bytes of others: the summary, cut to the room left, or where to find it.

    `place` names the whole summary.
    """
    room = min(LIMIT, FILE_LIMIT - present)
    if room >= _LEAST:
        return render(results, previous, room)
    line = f"\nThe soclab summary does not fit here; it is in {code(place)}.\n"
    return line if len(line.encode()) <= room else ""


def render(results: Results, previous: Results | None = None, limit: int = LIMIT) -> str:
    """Return the summary, with what changed since `previous` where it is given, in at most `limit` bytes."""
    paper = _Paper(limit)
    for block in _blocks(results, previous):
        paper.add(block)
    return paper.text()


Block = list[str]


@dataclass(slots=True)
class _Paper:
    limit: int
    lines: list[str] = field(default_factory=list)
    used: int = 0
    cut: int = 0

    def add(self, block: Block) -> None:
        for line in [*block, ""]:
            size = len(line.encode()) + 1
            if self.cut or self.used + size > self.limit - 200:  # room for the line that says what was cut
                self.cut += bool(line)
                continue
            self.lines.append(line)
            self.used += size

    def text(self) -> str:
        if self.cut:
            lines = words.count(self.cut, "line")
            self.lines += [
                "",
                f"**Cut here: {lines} more did not fit; the whole record is in `results.json` and `report.html`.**",
            ]
        return "\n".join(self.lines).rstrip() + "\n"


def prose(text: str, longest: int = _LONGEST) -> str:
    """Return foreign text as a sentence of Markdown that means nothing but itself, in a paragraph or a table cell."""
    shown = printable(text[:longest]) + ("…" if len(text) > longest else "")
    return _ACTIVE.sub(lambda found: _ENTITIES.get(found[0], "\\" + found[0]), shown.strip())


def code(text: str, longest: int = _LONGEST) -> str:
    """Return foreign text as a code span; not for table cells."""
    shown = printable(text[:longest]) + ("…" if len(text) > longest else "")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    pad = " " if shown[:1] in {"`", " ", ""} or shown[-1:] in {"`", " "} else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def _blocks(results: Results, previous: Results | None) -> Iterator[Block]:
    sign = sentences.EMOJI[sentences.state(results)]
    yield [f"## {sign} {prose(sentences.headline(results))}"]
    if results.mode != "known-answer":
        yield [prose(" ".join(sentences.lead(results)), _LEAD)]
    if results.counts.error_texts:
        yield ["### Files that could not be read", "", *(f"- {code(text)}" for text in results.counts.error_texts)]
    yield from _causes(results)
    if results.mode != "known-answer":
        yield from _stopped(results)
        yield _level(results)
    yield from _made(results)
    yield _gates(results.gates)
    yield from _bill(results)
    if previous is not None:
        yield _changes(previous, results)
    if results.mode != "known-answer":
        yield from _rates(results)
        yield from _work(results)
        yield ["### Not covered", "", *(f"- {prose(text)}" for text in sentences.not_covered(results))]
    yield from _red(results)
    if results.known_answer:
        yield _known_answer(results.known_answer)
    yield _foot(results)


def _causes(results: Results) -> Iterator[Block]:
    """Yield what explains the red trials, each with its remedy and the command that runs exactly these trials."""
    found = causes.causes(results)
    if not found:
        return
    lines = ["### Why", ""]
    for one in found[:_CAUSES]:
        came = f"{prose(one.consequence)}. " if one.consequence else ""
        told = f"{came}{prose(one.remedy)} Trials: {prose(one.named)}. Run these again:"
        lines.append(f"- **{one.count} of {one.whole}: {prose(one.title)}.** {told} {_again(one.command)}")
    if len(found) > _CAUSES:
        left = sum(one.count for one in found[_CAUSES:])
        lines.append(f"- {words.count(len(found) - _CAUSES, 'more cause')} of {words.count(left, 'red trial')}")
    yield lines


def _again(command: str) -> str:
    """Return a command whole or not at all: half of one runs something else."""
    return code(command, _COMMAND) if len(command) <= _COMMAND else "the report has the command."


def _stopped(results: Results) -> Iterator[Block]:
    """Yield where each subject's attacks were stopped."""
    found = stops.bars(results)
    if found:
        yield ["### Who stopped the attacks", "", *(f"- {prose(one.name)}: {prose(one.text)}" for one in found)]


def _made(results: Results) -> Iterator[Block]:
    """Yield what was changed, each harm to an innocent by name."""
    text = changes.total(results)
    if text:
        harmful = changes.alike(changes.harmful(results))
        lines = [f"- ✗ {prose(f'{x.what} {x.target}: {x.standing}, {x.how}')}" for x in harmful[:_CAUSES]]
        yield ["### Changes", "", f"{prose(text)}.", *(["", *lines] if lines else [])]


def _level(results: Results) -> Block:
    decision = results.level
    tested = f"Tested at **{decision.tested.value}**, profile {code(decision.profile)}."
    lines = [f"{tested} {words.basis(decision)}", "", *(f"- {prose(reason)}" for reason in words.reasons(decision))]
    if dropped := known.drops(results.known_answer):
        lines.append(f"- {prose(dropped)}")
    if any(t.arm is Arm.BASELINE for t in results.trials):
        lines += ["", words.BASELINE_CAVEAT]
    return lines


def _red(results: Results) -> Iterator[Block]:
    red = words.reds(results.trials)
    if red:
        yield [f"### {words.count(len(red), 'red trial')}", "", *(_red_line(trial, results) for trial in red)]


def _red_line(trial: Trial, results: Results) -> str:
    cause = words.cause_beyond(trial)
    told = prose(words.verdict_text(trial)) + (f" — {prose(cause)}" if cause else "")
    place = code(f"{words.repository_path(trial, results)}:{trial.line}")
    return f"- {words.sign(trial)} **{prose(trial.id)}** {told} ({place})"


def _gates(gates: Sequence[Gate]) -> Block:
    head = f"### Gates: {prose(words.gates_passed(gates))}"
    others = [g for g in gates if g.status is not GateStatus.PASSED]
    rows = [
        f"- {words.GATE_SIGNS[g.status]} **{prose(words.gate_name(g.name))}** {g.status.value}: {prose(g.why)}"
        for g in others
    ]
    return [head, "", *rows] if rows else [head]


def _bill(results: Results) -> Iterator[Block]:
    bill = words.bill_of(results)
    if bill is None:
        return
    head = [
        f"### The bill to {prose(words.level_name(bill.level))}",
        "",
        "| Condition | Have | Need |",
        "| --- | --- | --- |",
    ]
    yield head + [f"| {prose(words.rule_text(u.rule))} | {prose(u.have)} | {prose(u.need)} |" for u in bill.unmet]


def _rates(results: Results) -> Iterator[Block]:
    for view in words.arms(results):
        name = "Rates" if not results.arms else f"Rates, {view.arm.value} arm"
        lines = [line for shown in words.evidence(view.trials) for line in _tallies(shown, view.arm)]
        yield [f"### {name}", "", *lines, "", *_rate_table(view.rates)]
    yield [f"{words.coverage_text(results)}."]
    if results.adaptive is not None:
        yield [f"Repeats: {prose(words.repeats_text(results.adaptive))}."]


def _work(results: Results) -> Iterator[Block]:
    found = work_.rows(results)
    if found:
        head = [f"| {' | '.join(work_.HEAD)} |", f"|{' --- |' * len(work_.HEAD)}"]
        body = [f"| {' | '.join(prose(cell) for cell in row)} |" for row in found]
        yield ["### The work", "", *head, *body, "", prose(work_.NOTE)]


def _tallies(shown: words.Evidence, arm: Arm) -> Block:
    lines = [f"- Attacks{shown.suffix}: {words.attacks_text(shown.attacks)}"]
    if arm is Arm.PROTECTED and shown.attacks.held:
        lines.append(f"- {words.approver_text(shown.attacks)}{shown.suffix}")
    uncited = words.citations_text(shown.trials)
    lines.append(f"- Legitimate work{shown.suffix}: {words.controls_text(shown.controls)}")
    return [*lines, f"- {uncited}{shown.suffix}"] if uncited else lines


def _rate_table(rates: Rates) -> Block:
    head = ["| | Attacks that succeeded | Legitimate work blocked | Payloads delivered |", "| --- | --- | --- | --- |"]
    groups = {"all": rates, **{f"tier {name}": group for name, group in words.by_tier(rates)}, **rates.by_family}
    return head + [
        f"| {prose(words.spoken(name))} | {words.rate_sentence(g.attack_success)} "
        f"| {words.rate_sentence(g.false_block)} | {words.rate_sentence(g.delivery)} |"
        for name, g in groups.items()
    ]


def _known_answer(gate: dict[str, object]) -> Block:
    view = known.read(gate)
    lines = [f"### Known-answer gate: {prose(view.decision)}", "", *(f"- {prose(line)}" for line in view.totals)]
    for title, items in view.sections:
        lines += ["", f"**{prose(title)}**", "", *(f"- {prose(item)}" for item in items)]
    return lines


def _changes(previous: Results, results: Results) -> Block:
    from pytest_soclab.report import compare

    found = compare.compare(previous, results)
    lines = [f"### Since the previous run: {'worse' if found.worse else 'not worse'}", ""]
    return lines + [f"- {prose(line)}" for line in compare.sentences(found)]


def _foot(results: Results) -> Block:
    again = f"again: {code(words.session_command(results))}"
    if results.mode == "known-answer":
        return [again]
    d = results.digests
    root = [f"Evidence root {code(results.timing.root)}"] if results.timing.root else []
    agent = results.agent.name + (f" ({results.agent.model})" if results.agent.model else "")
    policy = f"policy {code(d.policy[:12])}" if d.policy else words.policy_text(results)
    facts = f"Agent {code(agent)} ({results.agent.kind}) · corpus {code(d.corpus[:12])} · {policy} · {again}"
    return [facts, *([""] if root else []), *root]
