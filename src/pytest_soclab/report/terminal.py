"""Renders the terminal section: plain lines with a tone each, readable without colour at any width from 40 up."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pytest_soclab.errors import printable
from pytest_soclab.record import Arm, GateStatus, Results, Trial
from pytest_soclab.report import words

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
    yield ("level", _level_line(results), _level_tone(results))
    for number, reason in enumerate(results.level.why):
        yield ("" if number else "why", reason, "plain")
    yield from _evidence(results)
    yield from _gates(results, verbosity)
    yield from _red(results, verbosity)
    yield from _bill(results, verbosity)
    if verbosity > 0:
        yield ("basis", words.basis(results.level), "dim")
        yield ("again", words.session_command(results), "dim")


def _brief(results: Results) -> list[Line]:
    red, passed = len(words.reds(results.trials)), sum(g.status is GateStatus.PASSED for g in results.gates)
    held = [_held(shown) for shown in words.evidence(words.measured_trials(results))]
    last = f"{passed} of {len(results.gates)} gates passed; {words.count(red, 'red trial')}"
    return [
        Line(_level_line(results), _level_tone(results)),
        Line("; ".join(held)),
        Line(last, "bad" if red or not _all_passed(results) else "plain"),
    ]


def _held(shown: words.Evidence) -> str:
    attacks, controls = shown.attacks, shown.controls
    resisted = f"{attacks.held} of {attacks.total} attacks resisted"
    return f"{resisted}, {controls.held} of {controls.total} legitimate served{shown.suffix}"


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
        yield ("work", words.controls_text(shown.controls) + shown.suffix, "plain")
    yield ("rates", f"attacks that succeeded: {words.rate_sentence(view.rates.attack_success)}", "plain")
    yield ("", f"legitimate work blocked: {words.rate_sentence(view.rates.false_block)}", "plain")
    yield ("", f"payloads delivered: {words.rate_sentence(view.rates.delivery)}", "plain")


def _gates(results: Results, verbosity: int) -> Iterator[Block]:
    yield ("gates", words.gates_text(results.gates), "plain" if _all_passed(results) else "bad")
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
    bill = results.level.next
    if bill is None or not bill.unmet:
        return
    unmet = words.count(len(bill.unmet), "unmet condition")
    if verbosity < 1:
        yield ("next", f"{words.level_name(bill.level)}: {unmet} (-v prints the bill)", "plain")
        return
    yield ("next", f"{words.level_name(bill.level)}: {unmet}", "plain")
    for item in bill.unmet:
        yield ("", f"{item.rule}: {item.have}; {item.need}", "plain")


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
