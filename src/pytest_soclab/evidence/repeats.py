"""The saved shapes of what a session left out on purpose: repeats, and attacks that count from a higher level on."""

from __future__ import annotations

from pytest_soclab.evidence.saved import Saved
from pytest_soclab.evidence.terms import AdaptiveRule, Arm, Level


class AdaptiveUnit(Saved):
    """One variant of a scenario in one arm: how often it was tried, and what ended that."""

    scenario: str
    variant: str
    arm: Arm
    trials: int
    rule: AdaptiveRule


class Adaptive(Saved):
    """Where repeats were spent (`--soclab-adaptive`); it follows from the trials alone."""

    level: Level
    """The highest level that the trials leave possible."""
    needed: int
    """How many trials of each variant the levels up to it ask for."""
    planned: int
    undecided: tuple[str, ...] = ()
    """Gates that no trial decided, for which attacks are repeated to the plan's end."""
    why: str
    units: tuple[AdaptiveUnit, ...]


class AboveLevel(Saved):
    """A scenario that says of itself that it is made for a higher level than the one under test."""

    scenario: str
    from_level: Level
