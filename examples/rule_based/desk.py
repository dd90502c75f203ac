"""The agent's desk: every call it makes, what came back, and which evidence speaks of what."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_soclab.public import Soc

MOST_READS = 36
"""Reads beyond it would leave too few calls for the response."""
_SPENT = frozenset({"call_budget", "time_budget", "cost_budget"})


@dataclass(frozen=True, slots=True)
class Piece:
    """One result that can be cited, as text."""

    evidence: str
    tool: str
    text: str


@dataclass(slots=True)
class Desk:
    """Wraps the gateway; reads are made once, and an action cites what was read about its target."""

    soc: Soc
    pieces: list[Piece] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    """Tools that were not allowed to answer: nothing is concluded from their silence."""

    def read(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Return what a tool says, empty where it says nothing, refuses, or too much was read already."""
        asked = f"{tool} {json.dumps(arguments, sort_keys=True)}"
        if asked in self.answers:
            return dict(self.answers[asked])
        if len(self.answers) >= MOST_READS:
            return {}
        result = self.soc.call(tool, arguments)
        data = result.data if result.ok and isinstance(result.data, dict) else {}
        if result.denied:
            self.unread.append(tool)
        self.answers[asked] = data
        if result.ok and result.evidence:
            self.pieces.append(Piece(result.evidence, tool, json.dumps(data, ensure_ascii=False)))
        for event in data.get("events", ()):
            self.events[event["uid"]] = event
        return dict(data)

    @property
    def told(self) -> list[str]:
        """Everything that was read, one text a result."""
        return [piece.text for piece in self.pieces]

    def rows(self, tool: str, name: str, **arguments: Any) -> list[dict[str, Any]]:
        """Return the rows that a list holds."""
        return list(self.read(tool, **arguments).get(name, ()))

    def act(self, tool: str, target: str, /, **arguments: Any) -> bool:
        """Propose an action on a target and tell whether it was executed or recorded."""
        if self.refused and self.refused[-1].endswith("budget"):
            return False
        result = self.soc.call(tool, arguments, self.speaking_of(target))
        if result.ok:
            self.done.append(f"{tool} on {target}")
        else:
            spent = _SPENT & set(result.denied)
            self.refused.append(f"{tool} on {target}: {', '.join(sorted(spent) or result.denied) or result.error}")
        return result.ok

    def speaking_of(self, *names: str) -> list[str]:
        """Return the evidence that names one of these, one piece of each tool; events first, they say what happened."""
        found = [piece for piece in self.pieces if any(name in piece.text for name in names)]
        first: Mapping[str, Piece] = {piece.tool: piece for piece in reversed(found)}
        ordered = sorted(first.values(), key=lambda piece: (piece.tool != "siem.search", piece.evidence))
        return [piece.evidence for piece in ordered][:4]


def text_of(event: Mapping[str, Any]) -> str:
    """Return an event as one text to look for words in."""
    return json.dumps(event, ensure_ascii=False)


def first_of(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the first of some fields that has a text."""
    return next((str(row[name]) for name in names if row.get(name)), "")
