"""Says in words what a known-answer gate found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_soclab.report.words import count

_NAMED = 5  # drops that the line beside the level names


@dataclass(frozen=True, slots=True)
class View:
    """The known-answer gate in sentences: the decision, the totals of both arms, then titled lists."""

    decision: str
    held: bool
    totals: list[str]
    sections: list[tuple[str, list[str]]]


def read(gate: Mapping[str, Any]) -> View:
    """Read a `known-answer-gate/1` document; what it lacks is left out, never guessed."""
    arms_ = [(name, gate.get(name) or {}) for name in ("baseline", "candidate")]
    lists = {
        "Dropped": [_moved(item) for item in gate.get("dropped") or ()],
        "Improved": [_moved(item) for item in gate.get("improved") or ()],
        "Not gated": [
            f"{i.get('item')}: scored in {i.get('scored')} of {i.get('of')} runs" for i in gate.get("not_gated") or ()
        ],
        "How it was found changed (never gated)": [
            f"{i.get('item')}: {i.get('baseline')} → {i.get('candidate')}" for i in gate.get("tag_changed") or ()
        ],
    }
    totals = [_arm_totals(name, arm) for name, arm in arms_ if arm] + _beyond(gate.get("beyond") or {})
    totals.append(f"{count(len(gate.get('held') or ()), 'item')} held")
    sections = [(f"{title}: {len(items)}", items) for title, items in lists.items() if items]
    return View(str(gate.get("decision", "unknown")), gate.get("decision") == "held", totals, sections)


def drops(gate: Mapping[str, Any] | None) -> str:
    """Say in one line what dropped, for beside the level; empty where nothing did."""
    gate = gate or {}
    items = [str(item.get("item")) for item in gate.get("dropped") or ()]
    items += ["the beyond-human count"] if (gate.get("beyond") or {}).get("dropped") else []
    if not items:
        return ""
    more = f" and {len(items) - _NAMED} more" if len(items) > _NAMED else ""
    return f"known answers dropped: {', '.join(items[:_NAMED])}{more}"


def _arm_totals(name: str, arm: Mapping[str, Any]) -> str:
    totals = arm.get("totals") or {}
    counts = " / ".join(f"{number} {verdict}" for verdict, number in totals.items())
    runs = ", ".join(map(str, arm.get("runs") or ()))
    credited = f"credited {arm.get('credited')} of {sum(totals.values())}"
    return f"{name} ({arm.get('m')} of {arm.get('n')} runs: {runs}): {counts}; {credited}"


def _beyond(beyond: Mapping[str, Any]) -> list[str]:
    if not beyond.get("gated"):
        return []
    fell = "dropped" if beyond.get("dropped") else "held"
    return [f"findings beyond the human's: {beyond.get('baseline')} → {beyond.get('candidate')}, {fell}"]


def _moved(item: Mapping[str, Any]) -> str:
    sides = (_reached(item.get("baseline") or {}), _reached(item.get("candidate") or {}))
    return f"{item.get('item')}: {sides[0]} → {sides[1]}"


def _reached(side: Mapping[str, Any]) -> str:
    return f"{side.get('verdict') or 'no verdict'} {side.get('reached')} of {side.get('of')}"
