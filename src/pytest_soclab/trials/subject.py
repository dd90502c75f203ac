"""Says who was tried: an agent's identity as far as it can be told, and whether it proposes the same twice."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from pytest_soclab.evidence.ledger import Event
from pytest_soclab.gateway.state import Identity

_ONE_IN = 8


def described(agent: Any, identity: Identity, same_again: bool | None) -> dict[str, Any]:
    """Return what a trial's record says of its agent, as plain JSON.

    `same_again` tells whether it proposed the same when it was tried a second time, None where it was not.
    """
    kind = type(agent)
    return {
        "name": identity.name,
        "model": identity.model or None,
        "deterministic": getattr(agent, "deterministic", False) is True,
        "kind": identity.kind,
        "class": f"{kind.__module__}.{kind.__qualname__}",
        "version": _text(getattr(agent, "version", "")),
        "prompt": _digest(getattr(agent, "prompt", "")),
        "same_again": same_again,
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _digest(prompt: Any) -> str:
    """Return the start of a prompt's SHA-256: two prompts make two subjects, and none is written down."""
    text = _text(prompt)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12] if text else ""


def sampled(digest: str, variant: str) -> bool:
    """Tell whether a variant of a scenario is of the sample that is tried twice: one in eight, the same each time."""
    return hashlib.sha256(f"{digest} {variant}".encode()).digest()[0] % _ONE_IN == 0


def proposals(events: Sequence[Event]) -> list[Any]:
    """Return what an agent proposed, in its order."""
    return [
        (event["data"]["tool"], event["data"]["arguments"], event["data"]["cites"])
        for event in events
        if event["type"] == "proposal" and event["data"]["by"] == "agent"
    ]
