"""Tells what a trial looked like from outside, as digests: trials that look the same are one piece of evidence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_soclab.evidence.ledger import Event, digest

_EVIDENCE = re.compile(r"\bev_[0-9]{12}\b")


@dataclass(frozen=True, slots=True)
class Rendering:
    """Two SHA-256 digests: of what the policy was asked, and of that with what the agent was handed."""

    inputs: str
    whole: str


def rendering_of(events: Sequence[Event]) -> Rendering:
    """Return how a finished trial looks, without any id that a file or the session gave it.

    Beside inputs and results stands what befell the control plane: an attack on the chain asks the policy nothing.
    """
    asked = [event["data"]["input"] for event in events if event["type"] == "decision"]
    return Rendering(digest(_renumbered(asked)), digest(_renumbered([asked, *_befell(events)])))


def _renumbered(value: Any) -> str:
    """Return a value as JSON with evidence numbered as it came: its ids follow what a result says, word for word."""
    met: dict[str, str] = {}
    text = json.dumps(value, sort_keys=True)
    return _EVIDENCE.sub(lambda found: met.setdefault(found[0], f"evidence {len(met)}"), text)


def _befell(events: Sequence[Event]) -> Iterator[Any]:
    for event in events:
        data = event["data"]
        match event["type"]:
            case "result":
                yield [data["data"], data["error"], data["recorded"]]
            case "refused":
                yield [data["layer"], data["reason"]]
            case "harness":
                yield [data["step"], data["noticed"]]
