"""Renders the terminal section: plain lines with a tone each, readable without colour at any width from 40 up."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pytest_soclab.base.errors import printable
from pytest_soclab.evidence.results import Arm, GateStatus, Results, Trial
from pytest_soclab.report import changes, known, reach, words

Tone = Literal["plain", "good", "bad", "warn", "bold", "dim"]
_LABEL = 12  # width of the left column
_RED_SHOWN = 10
_LONGEST = 1000  # of one text, before it is wrapped


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text and how it should look where colour is to be had."""

    text: str
    tone: Tone = "plain"


def render(results: Results, *, verbosity: int, width: int = 80) -> list[Line]:
    """Return the section's lines: three when `verbosity` is negative; bill, reasons and every red trial from 1 up."""
    width = max(width, 40)
    if verbosity < 0:
        return [_cut(line, width) for line in _brief(results)]
    return [line for block in _blocks(results, verbosity) for line in _wrapped(*block, width)]


Block = tuple[str, str, Tone]


def _blocks(results: Results, verbosity: int) -> Iterator[Block]:
    if results.mode == "known-answer":
        yield from _answers(results, verbosity)
        return
    yield ("level", _level_line(results), _level_tone(results))
    for number, reason in enumerate(words.reasons(results.level)):
        yield ("" if number else "why", reason, "plain")
    if dropped := known.drops(results.known_answer):
        yield ("dropped", dropped.removeprefix("known answers dropped: "), "bad")
    if results.agent.kind == "live":
        yield ("agent", words.agent_text(results), "plain")
    if results.policy.checked_by == words.UNCHECKED:
        yield ("policy", words.unchecked_text(results), "warn")
    yield from _changes(results)
    yield from _evidence(results)
    if results.reach:
        yield ("reach", reach.line(results.reach), "plain" if all(one.passed for one in results.reach) else "bad")
    yield from _gates(results, verbosity)
    yield from _red(results, verbosity)
    yield from _bill(results, verbosity)
    if verbosity > 0:
        yield ("basis", words.basis(results.level), "dim")
        yield ("again", words.session_command(results), "dim")


def _answers(results: Results, verbosity: int) -> Iterator[Block]:
    """Yield what a session of known answers alone has to say: nothing about the lab."""
    yield ("answers", words.headline(results), "good" if _all_passed(results) else "bad")
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
    work = [f"work{e.suffix}: {words.controls_text(e.controls)}" for e in shown]
    gates = words.gates_passed(results.gates) if results.gates else "no gates judged"
    last = "; ".join([*work, gates, words.count(red, "red trial")])
    return [first, Line("; ".join(attacks)), Line(last, "bad" if red or not _all_passed(results) else "plain")]


def _brief_level(results: Results) -> str:
    """Return the headline, with the reason where no level is issued."""
    if results.mode == "known-answer" or results.level.recommended or not results.level.why:
        return _level_line(results)
    return f"{words.headline(results)}: {results.level.why[0].removeprefix('no level: ')}"


def _level_line(results: Results) -> str:
    if results.mode == "known-answer":
        return words.headline(results)
    return f"{words.headline(results)}, tested at {results.level.tested.value}, profile {results.level.profile}"


def _level_tone(results: Results) -> Tone:
    if not _all_passed(results):
        return "bad"
    return "good" if results.level.recommended else "warn"


def _all_passed(results: Results) -> bool:
    return all(gate.status is GateStatus.PASSED for gate in results.gates)


def _changes(results: Results) -> Iterator[Block]:
    """Yield what was changed, each harm to an innocent by name: whoever reads no further must have seen it."""
    text = changes.total(results)
    if text:
        harmful = changes.harmful(results)
        yield ("changes", text, "bad" if harmful else "plain")
        for one in harmful[:_RED_SHOWN]:
            yield ("", one.sentence, "bad")
        if len(harmful) > _RED_SHOWN:
            yield ("", f"{len(harmful) - _RED_SHOWN} more on an innocent: see the report", "bad")


def _evidence(results: Results) -> Iterator[Block]:
    for view in words.arms(results):
        if view.trials:
            yield from _arm(view, bool(results.arms))
    yield ("corpus", words.coverage_text(results), "plain")
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
            yield ("stopped by", words.stoppers_text(shown.trials), "plain")
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
            yield ("", f"{words.GATE_SIGNS[gate.status]} {words.spoken(gate.name)}: {gate.why}", tone)


def _red(results: Results, verbosity: int) -> Iterator[Block]:
    red = words.reds(results.trials)
    shown = red if verbosity > 0 else red[:_RED_SHOWN]
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
