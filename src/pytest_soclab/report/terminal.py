"""Renders the terminal section: plain lines with a tone each, readable without colour at any width from 40 up."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_soclab.base.errors import printable
from pytest_soclab.evidence.results import Arm, GateStatus, Results, Trial
from pytest_soclab.report import causes, changes, compare, known, reach, sentences, stops, words
from pytest_soclab.report import work as work_

Tone = Literal["plain", "good", "bad", "warn", "bold", "dim"]
_LABEL = 12  # width of the left column
_RED_SHOWN = 10
_CAUSES_SHOWN = 5
_TRIALS_SHOWN = 3
_LONGEST = 1000  # of one text, before it is wrapped


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text and how it should look where colour is to be had."""

    text: str
    tone: Tone = "plain"


def render(results: Results, *, verbosity: int, width: int = 80, previous: Results | None = None) -> list[Line]:
    """Return the section's lines: four when `verbosity` is negative; bill, reasons and every red trial from 1 up.

    With `previous`, an earlier session, some lines say what changed since.
    """
    width = max(width, 40)
    if verbosity < 0:
        return [_cut(line, width) for line in _brief(results)]
    return [line for block in _blocks(results, verbosity, previous) for line in _wrapped(*block, width)]


Block = tuple[str, str, Tone]


def _blocks(results: Results, verbosity: int, previous: Results | None) -> Iterator[Block]:
    if results.mode == "known-answer":
        yield from _answers(results, verbosity)
        return
    yield (_label(results), sentences.headline(results), _level_tone(results))
    yield from _causes(results, verbosity)
    if results.level.recommended is None or verbosity > 0:
        for number, reason in enumerate(words.reasons(results.level)):
            yield ("" if number else "why", reason, "plain")
    yield (
        "tested",
        f"{sentences.subject(results)}, at {results.level.tested.value}, profile {results.level.profile}",
        "plain",
    )
    if dropped := known.drops(results.known_answer):
        yield ("dropped", dropped.removeprefix("known answers dropped: "), "bad")
    if results.policy.checked_by == words.UNCHECKED:
        yield ("policy", words.unchecked_text(results), "warn")
    yield from _changes(results)
    yield from _evidence(results)
    for number, text in enumerate(list(work_.lines(results))[: None if verbosity > 0 else 1]):
        yield ("" if number else "the work", text, "plain")
    if results.reach:
        yield ("reach", reach.line(results.reach), "plain" if all(one.passed for one in results.reach) else "bad")
    yield from _gates(results, verbosity)
    yield from _red(results, verbosity)
    yield from _bill(results, verbosity)
    yield from _since(results, previous)
    if verbosity > 0:
        yield ("basis", words.basis(results.level), "dim")
        yield ("again", words.session_command(results), "dim")


def _answers(results: Results, verbosity: int) -> Iterator[Block]:
    """Yield what a session of known answers alone has to say: nothing about the lab."""
    yield ("answers", sentences.headline(results), "good" if _all_passed(results) else "bad")
    for line in known.read(results.known_answer or {}).totals:
        yield ("", line, "plain")
    yield from _gates(results, verbosity)
    if verbosity > 0:
        yield ("again", words.session_command(results), "dim")


def _brief(results: Results) -> list[Line]:
    first = Line(_brief_level(results), _level_tone(results))
    if results.mode == "known-answer":
        totals = known.read(results.known_answer or {}).totals
        return [first, Line(totals[-1]), Line(f"gates: {words.gates_passed(results.gates)}")]
    red = len(words.reds(results.trials))
    shown = words.evidence(words.measured_trials(results))
    attacks = [f"attacks{e.suffix}: {words.attacks_text(e.attacks)}" for e in shown]
    stopped = "; ".join(f"{one.name}: {one.text}" for one in stops.bars(results))
    work = [f"work{e.suffix}: {words.controls_text(e.controls)}" for e in shown]
    gates = words.gates_passed(results.gates) if results.gates else "no gates judged"
    last = "; ".join([*work, gates, words.count(red, "red trial")])
    return [
        first,
        Line("; ".join(attacks)),
        Line(stopped or "no attack ran"),
        Line(last, "bad" if red or not _all_passed(results) else "plain"),
    ]


def _brief_level(results: Results) -> str:
    """Return the headline, with the reason where no level is issued."""
    if results.mode == "known-answer" or results.level.recommended or not results.level.why:
        return sentences.headline(results)
    return f"{sentences.headline(results)}: {results.level.why[0].removeprefix('no level: ')}"


def _label(results: Results) -> str:
    return sentences.state(results).value.upper()


def _causes(results: Results, verbosity: int) -> Iterator[Block]:
    """Yield what explains the red trials, then what to do about the first of it."""
    found = causes.causes(results)
    shown = found if verbosity > 0 else found[:_CAUSES_SHOWN]
    for number, one in enumerate(shown):
        yield ("" if number else "because", f"{one.count} of {one.whole}: {one.title}", "bad")
        yield ("", f"{one.consequence}. {one.named}" if one.consequence else one.named, "plain")
        if number == 0 or verbosity > 0:
            yield ("", one.remedy, "plain")
            yield ("", _again(one.command), "dim")
    if len(found) > len(shown):
        left = sum(one.count for one in found[len(shown) :])
        yield (
            "",
            f"{words.count(len(found) - len(shown), 'more cause')} of {words.count(left, 'trial')}: -v lists them",
            "bad",
        )


def _again(command: str) -> str:
    """Return a command whole or not at all: half of one runs something else."""
    return command if len(command) <= _LONGEST else "the report has the command that runs exactly these trials"


def _since(results: Results, previous: Results | None) -> Iterator[Block]:
    """Yield what changed since an earlier session."""
    if previous is None:
        return
    found = compare.compare(previous, results)
    yield (
        "since",
        "; ".join(found.faults) if found.worse else "not worse than the previous session",
        "bad" if found.worse else "plain",
    )
    lines = [str(found.level)] if found.level else []
    lines += [str(one) for one in found.digests if one.name in {"corpus", "policy", "profile", "agent", "model"}]
    yield from (("", line, "plain") for line in lines)


def _level_tone(results: Results) -> Tone:
    match sentences.state(results):
        case sentences.State.PASSED:
            return "good"
        case sentences.State.FAILED:
            return "bad"
        case _:
            return "warn"


def _all_passed(results: Results) -> bool:
    return all(gate.status is GateStatus.PASSED for gate in results.gates)


def _changes(results: Results) -> Iterator[Block]:
    """Yield what was changed, each harm to an innocent by name: whoever reads no further must have seen it."""
    text = changes.total(results)
    if text:
        harmful = changes.harmful(results)
        yield ("changes", text, "bad" if harmful else "plain")
        for one in changes.alike(harmful)[:_RED_SHOWN]:
            yield ("", f"{one.what} {one.target}: {one.standing}, {one.how} ({_few(one.trials)})", "bad")
        if len(changes.alike(harmful)) > _RED_SHOWN:
            yield ("", f"{len(changes.alike(harmful)) - _RED_SHOWN} more on an innocent: see the report", "bad")


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def _evidence(results: Results) -> Iterator[Block]:
    for view in words.arms(results):
        if view.trials:
            yield from _arm(view, bool(results.arms))
    for number, one in enumerate(stops.bars(results)):
        yield ("" if number else "stopped by", one.line, "plain")
    yield ("corpus", words.coverage_text(results), "plain")
    if results.adaptive is not None:
        yield ("repeats", words.repeats_text(results.adaptive), "plain")
    for text in results.counts.error_texts[:_RED_SHOWN]:
        yield ("", text, "bad")


def _arm(view: words.ArmView, named: bool) -> Iterator[Block]:
    if named or view.arm is Arm.BASELINE:
        caveat = words.BASELINE_CAVEAT if view.arm is Arm.BASELINE else "Behind the control plane."
        yield (view.arm.value, caveat, "bold")
    for shown in words.evidence(view.trials):
        yield ("attacks", words.attacks_text(shown.attacks) + shown.suffix, "plain")
        if view.arm is Arm.PROTECTED:
            yield ("", words.approver_text(shown.attacks), "plain")
        yield ("work", words.controls_text(shown.controls) + shown.suffix, "plain")
        if uncited := words.citations_text(shown.trials):
            yield ("", uncited, "plain")
    yield ("rates", f"attacks that succeeded: {words.rate_sentence(view.rates.attack_success)}", "plain")
    yield ("", f"legitimate work blocked: {words.rate_sentence(view.rates.false_block)}", "plain")
    yield ("", f"payloads delivered: {words.rate_sentence(view.rates.delivery)}", "plain")


def _gates(results: Results, verbosity: int) -> Iterator[Block]:
    yield ("gates", words.gates_passed(results.gates), "plain" if _all_passed(results) else "bad")
    for gate in results.gates:
        if verbosity > 0 or gate.status is not GateStatus.PASSED:
            tone: Tone = "plain" if gate.status is GateStatus.PASSED else "bad"
            yield ("", f"{words.GATE_SIGNS[gate.status]} {words.gate_name(gate.name)}: {gate.why}", tone)


def _red(results: Results, verbosity: int) -> Iterator[Block]:
    """Yield the red trials one by one, where they are asked for or so few that their places help."""
    red = words.reds(results.trials)
    shown = red if verbosity > 0 else red[:_TRIALS_SHOWN]
    for number, trial in enumerate(shown):
        yield ("red" if number == 0 else "", f"{trial.id} {words.verdict_text(trial)}", "bad")
        yield ("", words.place(trial), "dim")
        if verbosity > 0:
            yield ("", _reasons(trial), "dim")
    if len(red) > len(shown):
        yield ("", f"{words.count(len(red) - len(shown), 'more red trial')}: -v lists them", "bad")


def _reasons(trial: Trial) -> str:
    parts = [words.cause_beyond(trial)] if words.cause_beyond(trial) else []
    parts += [f"reasons: {', '.join(trial.reasons)}"] if trial.reasons else []
    return "; ".join(parts)


def _bill(results: Results, verbosity: int) -> Iterator[Block]:
    bill = words.bill_of(results)
    if bill is None:
        if results.level.next is not None and words.is_part(results):
            yield ("next", words.NO_LEVEL_IN_PART, "plain")
        return
    unmet = words.count(len(bill.unmet), "unmet condition")
    if verbosity < 1:
        yield ("next", f"{words.level_name(bill.level)}: {unmet} (-v prints the bill)", "plain")
        return
    yield ("next", f"{words.level_name(bill.level)}: {unmet}", "plain")
    for item in bill.unmet:
        joint = "; " if " needs " in item.need else ", need "
        yield ("", f"{words.rule_text(item.rule)}: have {item.have}{joint}{item.need}", "plain")


def _wrapped(label: str, text: str, tone: Tone, width: int) -> Iterator[Line]:
    shown = printable(text[:_LONGEST]) + ("…" if len(text) > _LONGEST else "")
    for part in textwrap.wrap(shown, width - _LABEL, break_on_hyphens=False):
        yield Line(f"{label:<{_LABEL}}{part}", tone)
        label = ""


def _cut(line: Line, width: int) -> Line:
    shown = printable(line.text[:_LONGEST])
    return (
        line
        if shown == line.text and len(shown) <= width
        else Line(textwrap.shorten(shown, width, placeholder="…"), line.tone)
    )
