"""The text of a failing item: verdict, who stopped it or nobody, the decisive events, the scenario's file and line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_soclab.errors import printable
from pytest_soclab.record import Layer, Trial

_SHOWN = 400  # characters of an event that the terminal shows


def text(trial: Trial, events: Sequence[Mapping[str, Any]]) -> str:
    """Return the lines that a failing item prints, safe for a terminal."""
    lines = [_verdict(trial), _stopped(trial)]
    wanted = set(trial.decisive)
    lines += [_event(event) for event in events if event["seq"] in wanted]
    lines += [f"{trial.file}:{trial.line} {trial.title}"]
    return "\n".join(printable(line) for line in lines)


def _verdict(trial: Trial) -> str:
    """Return the verdict and why, without saying the verdict twice."""
    said = trial.cause.startswith(trial.verdict.value)
    return trial.cause if said else f"{trial.verdict.value}: {trial.cause}"


def _stopped(trial: Trial) -> str:
    if trial.stopped_layer is Layer.NOTHING:
        return "stopped by nobody"
    reasons = f", reasons: {', '.join(trial.reasons)}" if len(trial.reasons) > 1 else ""
    place = f" at {trial.stopped_rule}" if trial.stopped_rule else ""
    layer = "" if trial.stopped_layer.value == trial.stopped_by else trial.stopped_layer.value
    detail = f"{layer}{place}{reasons}".strip(" ,")
    return f"stopped by {trial.stopped_by}" + (f" ({detail})" if detail else "")


def _event(event: Mapping[str, Any]) -> str:
    data = {key: value for key, value in event["data"].items() if key != "input" and value not in ("", [], None)}
    body = json.dumps(data, ensure_ascii=False)
    shown = body if len(body) <= _SHOWN else f"{body[:_SHOWN]}… ({len(body)} characters)"
    return f"  event {event['seq']} {event['type']}: {shown}"
