"""The text of a failing item: verdict, who stopped it or nobody, the decisive events, the scenario's file and line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_soclab.base.errors import printable
from pytest_soclab.evidence.ledger import Event
from pytest_soclab.evidence.results import Layer, Trial, Verdict
from pytest_soclab.report import timeline

_SHOWN = 200  # characters of a call's arguments, and of each text of an event, that the terminal shows


def text(trial: Trial, events: Sequence[Event]) -> str:
    """Return the lines that a failing item prints, safe for a terminal."""
    wanted = set(trial.decisive)
    calls = {e["data"]["call"]: e["data"] for e in events if e["type"] == "proposal"}
    lines = [_verdict(trial), *_stopped(trial)]
    lines += [_event(event, calls) for event in events if event["seq"] in wanted]
    lines += [f"{trial.file}:{trial.line} {trial.title}"]
    return "\n".join(printable(line) for line in lines)


def _verdict(trial: Trial) -> str:
    """Return the verdict and why, without saying the verdict twice."""
    said = trial.cause.startswith(trial.verdict.value)
    return trial.cause if said else f"{trial.verdict.value}: {trial.cause}"


def _stopped(trial: Trial) -> list[str]:
    """Say who stopped it; nothing where there was no verdict, and so nothing to stop."""
    if trial.stopped_layer is Layer.NOTHING:
        return [] if trial.verdict is Verdict.INCONCLUSIVE else ["stopped by nobody"]
    reasons = f", reasons: {', '.join(trial.reasons)}" if len(trial.reasons) > 1 else ""
    place = f" at {trial.stopped_rule}" if trial.stopped_rule else ""
    layer = "" if trial.stopped_layer.value == trial.stopped_by else trial.stopped_layer.value
    detail = f"{layer}{place}{reasons}".strip(" ,")
    return [f"stopped by {trial.stopped_by}" + (f" ({detail})" if detail else "")]


def _event(event: Event, calls: Mapping[Any, Mapping[str, Any]]) -> str:
    """Return one line: the event's number, the call that it is about, and what happened."""
    number = event["data"].get("call")
    call = calls.get(number) if isinstance(number, int | str) else None
    about = f"call {number} {call['tool']}{_arguments(call['arguments'])}: " if call else ""
    return f"  event {event['seq']}: {about}{timeline.told(event, _SHOWN)}"


def _arguments(arguments: Any) -> str:
    if not isinstance(arguments, Mapping):
        return f" {_clip(json.dumps(arguments, ensure_ascii=False))}"
    return "".join(f" {key}={_value(value)}" for key, value in arguments.items())[:_SHOWN]


def _value(value: Any) -> str:
    return _clip(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _clip(shown: str) -> str:
    return shown if len(shown) <= _SHOWN // 2 else f"{shown[: _SHOWN // 2]}…"
