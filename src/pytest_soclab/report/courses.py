"""Tells which repetitions of a trial went the same course, so that the report draws each course once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_soclab.evidence.ledger import Event
from pytest_soclab.evidence.results import Trial


class Courses:
    """The repetitions of one trial after another; those that are drawn are kept until the next trial comes."""

    def __init__(self) -> None:
        self._unit: tuple[Any, ...] = ()
        self._drawn: list[tuple[Trial, Sequence[Event]]] = []

    def same_as(self, trial: Trial, events: Sequence[Event]) -> str:
        """Return the id of the earlier repetition that went the same course; empty where this one is to be drawn."""
        unit = (trial.scenario, trial.variant, trial.arm)
        if unit != self._unit:
            self._unit, self._drawn = unit, []
        for other, course in self._drawn:
            judged = (other.verdict, other.cause, other.decisive) == (trial.verdict, trial.cause, trial.decisive)
            if events and judged and alike(events, course):
                return other.id
        self._drawn.append((trial, events))
        return ""


def alike(one: Sequence[Event], other: Sequence[Event]) -> bool:
    """Tell whether two transcripts say the same, event by event, but for hashes and the trial's own name."""
    return len(one) == len(other) and all(_told(a) == _told(b) for a, b in zip(one, other, strict=True))


def _told(event: Event) -> tuple[Any, ...]:
    data = event.get("data")
    if isinstance(data, dict):
        grant = str(data.get("grant", "")).rpartition("/")[2]  # a grant's id starts with the trial's name
        data = {**data, "trial": "", "grant": grant}
    return event.get("type"), event.get("at"), data
