"""What a session will take, told from one that is stored: trials, calls, tokens, money and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from pytest_soclab.base.errors import ArtifactError
from pytest_soclab.evidence.store import TranscriptFolder, load_results


@dataclass(frozen=True, slots=True)
class Taken:
    """What one trial took."""

    seconds: float
    calls: float
    tokens: float
    cost: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What so many trials are expected to take; `known` of them ran in the stored session themselves."""

    trials: int
    known: int
    expected: Taken | None

    def lines(self, folder: Path) -> list[str]:
        """Return the plan as text."""
        if self.expected is None:
            why = f"no stored session in {folder} says what a trial takes; run a few with -k first"
            return [f"{self.trials} trials; {why}"]
        each = self.expected
        parts = [f"{each.calls:,.0f} calls", f"{each.tokens:,.0f} tokens", f"${each.cost:,.2f}", _time(each.seconds)]
        found = f"told from {self.known} of these trials in {folder}" if self.known else f"told from others in {folder}"
        return [f"{self.trials} trials: {', '.join(parts)}, one after the other; {found}"]


def plan(trials: Sequence[str], folder: Path) -> Plan:
    """Return what trials will take: what each took itself, else the median of those that ran."""
    try:
        known = taken(folder)
    except ArtifactError:
        known = {}
    if not known:
        return Plan(len(trials), 0, None)
    usual = _median(list(known.values()))
    each = [known.get(trial, usual) for trial in trials]
    return Plan(len(trials), sum(trial in known for trial in trials), _total(each))


def taken(folder: Path) -> dict[str, Taken]:
    """Return what each trial of a stored session took.

    Raises:
        ArtifactError: when there is none.
    """
    seconds = load_results(folder).timing.trial_seconds
    transcripts = TranscriptFolder(folder)
    return {trial: _taken(float(seconds.get(trial, 0.0)), transcripts[trial]) for trial in transcripts}


def _taken(seconds: float, events: Sequence[Mapping[str, Any]]) -> Taken:
    calls = sum(event["type"] == "proposal" for event in events)
    annexes = [event["data"] for event in events if event["type"] == "annex"]
    model = annexes[-1].get("model", {}) if annexes else {}
    return Taken(seconds, calls, float(model.get("tokens", 0)), float(model.get("cost", 0)))


def _median(all_: Sequence[Taken]) -> Taken:
    return Taken(*(median(getattr(one, name) for one in all_) for name in Taken.__slots__))


def _total(all_: Sequence[Taken]) -> Taken:
    return Taken(*(sum(getattr(one, name) for one in all_) for name in Taken.__slots__))


def _time(seconds: float) -> str:
    minutes = round(seconds / 60)
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
