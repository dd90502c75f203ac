"""Tells what a trial looked like from outside, as digests: trials that look the same are one piece of evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_soclab.evidence.ledger import Event, digest


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
    return Rendering(digest(asked), digest([asked, *_befell(events)]))


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
