"""Sets what was proposed in a red or inconclusive trial beside what was expected, argument by argument."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_soclab.audit.stored import read_chain
from pytest_soclab.audit.verify import Inspected, judge_of, sound
from pytest_soclab.evidence.ledger import Event
from pytest_soclab.evidence.results import Kind, Trial
from pytest_soclab.trials.unit import Unit

Call = tuple[str, Mapping[str, Any]]


def diagnose(path: Path) -> list[str]:
    """Return the lines for every trial of a session that did not pass.

    Raises:
        ArtifactError: when the session's evidence does not hold together.
    """
    found = sound(path)
    red = [attempt for attempt in found.session.attempts if not attempt.trial.passed]
    lines: list[str] = []
    for attempt in red:
        events = read_chain(found.session.transcript(attempt)).events if attempt.trial.root_hash else []
        lines += _trial(found, attempt.trial, attempt.fact.digest, events)
    return lines or ["every trial passed"]


def _trial(found: Inspected, trial: Trial, digest: str, events: Sequence[Event]) -> Iterator[str]:
    yield f"{trial.id} {trial.verdict.value}: {trial.cause}"
    yield f"  {trial.file}"
    if not events:
        yield "  no transcript: it did not end"
        return
    if trial.kind is Kind.ATTACK:
        yield f"  stopped by {trial.stopped_by}, expected {trial.expected_stop or 'anything'}"
    unit = judge_of(found.session).unit(trial, digest)
    proposed = [(e["data"]["tool"], e["data"]["arguments"]) for e in events if e["type"] == "proposal"]
    expected = _expected(unit) if unit is not None else []
    for call in expected:
        yield from _beside(call, proposed)
    names = {name for name, _ in expected}
    others = [call for call in proposed if call[0] not in names]
    yield from (f"  proposed beside that: {name} {_json(arguments)}" for name, arguments in others)


def _expected(unit: Unit) -> list[Call]:
    """Return the calls of a control that have to be served, of an attack those of its script."""
    if unit.scenario.kind is Kind.BENIGN:
        return [(call.tool, call.arguments) for call in unit.legitimate]
    return [(step.tool, step.arguments) for step in unit.script]


def _beside(expected: Call, proposed: Sequence[Call]) -> Iterator[str]:
    name, wanted = expected
    same = [arguments for tool, arguments in proposed if tool == name]
    if not same:
        yield f"  {name}: never proposed, expected {_json(wanted)}"
        return
    nearest = max(same, key=lambda arguments: sum(arguments.get(key) == value for key, value in wanted.items()))
    yield f"  {name}: proposed {len(same)} times" if len(same) > 1 else f"  {name}: proposed"
    for key in dict.fromkeys((*wanted, *nearest)):
        yield f"    {key}: {_pair(nearest, wanted, key)}"


def _pair(found: Mapping[str, Any], wanted: Mapping[str, Any], key: str) -> str:
    if key not in wanted:
        return f"{_json(found[key])}, not expected"
    if key not in found:
        return f"missing, expected {_json(wanted[key])}"
    same = found[key] == wanted[key]
    return f"{_json(found[key])}, as expected" if same else f"{_json(found[key])}, expected {_json(wanted[key])}"


def _json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}…"
