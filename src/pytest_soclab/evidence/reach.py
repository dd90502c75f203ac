"""The saved shape of reach: what becomes of every single call that an incident's world spans."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from pytest_soclab.evidence.saved import Saved
from pytest_soclab.evidence.terms import Course, Level, Standing


class ReachCount(Saved):
    """How many calls of one tool had one outcome and one standing."""

    tool: str
    outcome: Course
    standing: Standing
    count: Annotated[int, Field(gt=0)]


class ReachFault(Saved):
    """A call that should not have had its outcome: which, why it is forbidden, and what to do about it."""

    tool: str
    arguments: dict[str, Any]
    outcome: Course
    standing: Standing
    why: str
    remedy: str


class Reach(Saved):
    """What becomes of every single call that an incident's world spans, at one level."""

    incident: str
    level: Level
    """The level under test, or the case's own where that is lower."""
    nodeid: str
    tried: int
    spanned: int
    counts: tuple[ReachCount, ...] = ()
    forbidden: int = 0
    """How many calls had an outcome that they must not have; the first of them stand in `faults`."""
    faults: tuple[ReachFault, ...] = ()
    impossible: tuple[str, ...] = ()
    """Endorsed calls that do not go through in one whole response within the incident's budgets, each with why."""
    cause: str = ""
    """Why it did not come to an end, or an empty text."""

    @property
    def passed(self) -> bool:
        """Whether every call was tried, none had a forbidden outcome, and the whole response goes through."""
        whole = 0 < self.spanned == self.tried
        return whole and not (self.forbidden or self.faults or self.impossible or self.cause)
