"""Counts how often a state change that the policy let through cited no evidence of its target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_soclab.evidence.ledger import Event


@dataclass(frozen=True, slots=True)
class Citations:
    """How many state changes a trial's policy let through, and how many of them cited nothing of their target."""

    changes: int = 0
    uncited: int = 0


def citations(events: Iterable[Event]) -> Citations:
    """Return the count of a protected trial; what was seen and not cited served the change all the same."""
    asked = [e["data"]["input"] for e in events if e["type"] == "decision" and e["data"]["outcome"] == "allow"]
    changes = [document for document in asked if _changes_state(document)]
    return Citations(len(changes), sum(not _cited(document) for document in changes))


def _changes_state(document: Mapping[str, Any]) -> bool:
    tool = document["tool"]
    return bool(tool["authority"] == "act" and tool["effect"] != "read")


def _cited(document: Mapping[str, Any]) -> bool:
    """Tell whether some cited piece names one of the targets, or where nothing could name them, is there at all."""
    cited: Sequence[Mapping[str, Any]] = document["grounds"]["cited"]
    named = {name for piece in document["grounds"]["seen"] for name in piece["names"]}
    nameable = {target["value"] for target in document["targets"]} & named
    return any(not nameable or nameable & set(piece["names"]) for piece in cited)
