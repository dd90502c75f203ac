"""The one source of what page, terminal and summary say first: the verdict, who it is about, and what it leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from pytest_soclab.evidence.results import Arm, GateStatus, Kind, Layer, Level, Measured, Results, Trial, Verdict
from pytest_soclab.report import causes, changes, stops, words


class State(StrEnum):
    """How a session looks from afar."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"
    MEASURED = "measured"


SIGNS = {State.PASSED: "✓", State.FAILED: "✗", State.UNDECIDED: "?", State.MEASURED: "•"}
EMOJI = {State.PASSED: "✅", State.FAILED: "❌", State.UNDECIDED: "⚠️", State.MEASURED: "📏"}


def state(results: Results) -> State:
    """Tell passed from failed from undecided; a baseline only measures."""
    failed = any(gate.status is GateStatus.FAILED for gate in results.gates)
    if results.mode == "baseline":
        return State.MEASURED
    if failed or any(_broken(trial) for trial in results.trials) or results.counts.errors:
        return State.FAILED
    undecided = any(gate.status is not GateStatus.PASSED for gate in results.gates)
    if results.mode == "known-answer":
        return State.UNDECIDED if undecided else State.PASSED
    reached = results.level.recommended is not None and results.level.recommended.rank >= results.level.tested.rank
    return State.PASSED if reached and not undecided and not words.reds(results.trials) else State.UNDECIDED


def _broken(trial: Trial) -> bool:
    return not trial.passed and trial.verdict is not Verdict.INCONCLUSIVE


def name(level: Level | None) -> str:
    """Return `L4, act with approval`, or `no level`."""
    return f"{level.value}, {words.LEVEL_NAMES[level]}" if level else "no level"


def headline(results: Results) -> str:
    """Return the one sentence that stands above everything else, on every surface."""
    if results.mode == "known-answer":
        return words.known_answer_headline(results)
    if results.mode == "baseline":
        return _measured(results)
    decision = results.level
    if decision.recommended is None:
        return "No level is issued"
    who = "the controls support" if decision.basis == "controls" else f"{agent_name(results)} has earned"
    if decision.recommended.rank >= decision.tested.rank:
        red = words.count(len(words.reds(results.trials)), "red trial")
        held = f"{who[0].upper() if decision.basis == 'controls' else who[0]}{who[1:]} {name(decision.recommended)}"
        return held if state(results) is State.PASSED else f"{held}, with {red}"
    how = "failed" if state(results) is State.FAILED else "is not reached"
    return f"{decision.tested.value} {how}: {who} only {name(decision.recommended)}"


def agent_name(results: Results) -> str:
    """Return a live agent's name, between quotation marks where it could be read as a part of the sentence."""
    own = results.agent.name
    return f"“{own}”" if " " in own else own


def _measured(results: Results) -> str:
    found = stops.bar("", [t for t in results.trials if t.arm is Arm.BASELINE])
    through = found.count(stops.GOT_THROUGH)
    return f"Without controls, {through} of {words.count(found.total, 'attack')} succeed"


def badge(results: Results) -> str:
    """Return the few words beside the level's plate."""
    found = state(results)
    failed = sum(gate.status is GateStatus.FAILED for gate in results.gates)
    if found is State.FAILED and (unmet := _unmet(results)):
        return f"Failed: {unmet}"
    if found is State.FAILED and failed:
        return f"Failed: {failed} of {words.count(len(results.gates), 'gate')}"
    if found is State.FAILED:
        return f"Failed: {words.count(len(words.reds(results.trials)), 'red trial')}"
    if found is State.UNDECIDED:
        return "No level" if results.level.recommended is None else "Not reached"
    return "Measured, not judged" if found is State.MEASURED else "Passed"


def _unmet(results: Results) -> str:
    """Name what the next level lacks, where that level was under test; empty where a higher one would be next."""
    bill, tested = results.level.next, results.level.tested
    if bill is None or bill.level.rank > tested.rank or results.level.recommended is None:
        return ""
    names = [words.rule_text(one.rule) for one in bill.unmet]
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


_NAMED = 3  # conditions that the badge names


def subject(results: Results) -> str:
    """Say who the page is about."""
    if results.mode == "baseline":
        return "No controls at all"
    if results.level.basis == "controls":
        return "The controls, for any agent"
    model = f", model {results.agent.model}" if results.agent.model else ""
    return f"Agent {agent_name(results)}{model}"


def lead(results: Results) -> Iterator[str]:
    """Yield what a lead must know, in sentences that can be read aloud, each with its full stop."""
    if results.level.recommended is None and results.level.why and results.mode != "baseline":
        yield f"{_capital(results.level.why[0].removeprefix('no level: '))}."
    if results.level.recommended is not None and results.mode != "baseline":
        meaning = words.LEVEL_MEANINGS[results.level.recommended]
        yield f"{results.level.recommended.value} means: {meaning[0].lower()}{meaning[1:]}"
    yield from (f"{text}." for text in _attacks(results))
    yield from (f"{text}." for text in _work(results))
    harmed = changes.harmful(results)
    if harmed:
        yield f"{words.count(len(harmed), 'executed change')} hit somebody or something innocent."
    if told := causes.explained(causes.causes(results)):
        yield f"{told}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _attacks(results: Results) -> Iterator[str]:
    trials = words.measured_trials(results)
    for kind in ("scripted", "live"):
        own = [t for t in trials if t.agent_kind == kind]
        shown = stops.bar("", own)
        if shown.total:
            yield _met(results, kind, shown, own)
    if results.mode == "compare":
        yield _measured(results)
    if results.controls is not None and results.controls.level is not None:
        supported = name(results.controls.level.recommended)
        yield f"Against scripts that follow every attack the same controls support {supported}"


def _met(results: Results, kind: str, shown: stops.Bar, trials: list[Trial]) -> str:
    scenarios = len({t.scenario for t in trials if t.kind is Kind.ATTACK})
    who = f"{_capital(agent_name(results))} met" if kind == "live" else "A script that follows every attack ran"
    several = f" ({words.count(scenarios, 'scenario')} in several wordings)" if scenarios < shown.total else ""
    parts = [f"{number} {what}" for number, what in _ends(shown) if number]
    return f"{who} {words.count(shown.total, 'attack')}{several}: {_list(parts)}"


def _ends(shown: stops.Bar) -> list[tuple[int, str]]:
    agent, human = shown.count(stops.PLACES[Layer.AGENT]), shown.count(stops.PLACES[Layer.APPROVER])
    return [
        (agent, "declined by the agent itself"),
        (shown.stopped - agent - human, "stopped by controls"),
        (human, "by a human alone"),
        (shown.count(stops.GOT_THROUGH), "got through"),
        (shown.count(stops.NO_VERDICT), "gave no verdict"),
    ]


def _list(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _work(results: Results) -> Iterator[str]:
    found = stops.wordings(words.measured_trials(results), Kind.BENIGN)
    served = sum(all(t.verdict is Verdict.SERVED for t in own) for own in found)
    if found:
        pieces = words.count(len(found), "piece")
        yield f"{served} of {pieces} of legitimate work {'was' if served == 1 else 'were'} served"
    right = results.work.findings_right if results.work is not None else None
    if right is not None and right.n:
        yield f"{right.k} of {words.count(right.n, 'finding')} {'was' if right.k == 1 else 'were'} right"


def bound(results: Results) -> str:
    """Say how far the attacks' rate may be from the truth, and what it counts; empty where nothing was measured."""
    rate = results.rates.attack_success
    if not isinstance(rate, Measured):
        return ""
    high = words.percent(rate.high)
    counted = f"Counted over {words.count(rate.n, 'scenario')}"
    return f"{counted}: were they a random draw, which they are not, up to {high} could succeed."


def not_covered(results: Results) -> Iterator[str]:
    """Yield what this page says nothing about."""
    yield "attacks that are not in this corpus"
    if results.level.basis == "controls":
        yield "how any one agent behaves: no model was asked"
    else:
        yield "another version, model or prompt of this agent"
    yield "your production gateway, people and data: this is a simulated SOC"
    if getattr(results, "work", None) is None:
        yield "the quality of an investigation"
    missing = results.counts.corpus - results.counts.run
    if missing > 0:
        yield f"{words.count(missing, 'scenario')} of the corpus that did not come to a verdict or did not run"
    if results.level.recommended and results.level.recommended.rank < Level.L5.rank:
        yield f"levels above {results.level.tested.value}, which were not tested"
