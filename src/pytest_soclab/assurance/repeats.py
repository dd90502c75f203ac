"""Asks, while a session runs, whether a further trial of a variant can change anything."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from pytest_soclab.assurance.adaptive import Ceiling
from pytest_soclab.assurance.assemble import Facts, ceiling_of
from pytest_soclab.assurance.profile import Profile
from pytest_soclab.evidence.results import Arm, Kind

Variant = tuple[str, str, Arm]
"""A scenario's id, a variant of it, an arm."""


@dataclass
class Repeats:
    """What a session's facts, which grow, say of its repeats; every variant was tried once before it is asked."""

    facts: Facts
    profile: Profile
    _at: int = -1
    _ceiling: Ceiling | None = None
    _tried: Counter[Variant] = field(default_factory=Counter)

    def stops(self, variant: Variant, kind: Kind) -> str:
        """Return why a repeat is not run, or an empty text."""
        if self._ceiling is None or len(self.facts.trials) != self._at:
            self._at = len(self.facts.trials)
            self._ceiling = ceiling_of(self.facts, self.profile)
            self._tried = Counter((t.scenario, t.variant, t.arm) for t in self.facts.trials.values())
        return self._ceiling.stops(kind, self._tried[variant])
