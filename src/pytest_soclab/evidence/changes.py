"""The saved shapes of what a trial changed: each change by itself, and how many there were of each class."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict


class Saved(BaseModel):
    """A frozen shape that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ActionState(StrEnum):
    """What became of a change that was proposed."""

    EXECUTED = "executed"
    RECORDED = "recorded"
    STOPPED = "stopped"
    FAILED = "failed"


class Consent(StrEnum):
    """Who consented to an executed change: a human, or nobody but the policy."""

    APPROVED = "approved"
    UNATTENDED = "unattended"
    NONE = "none"


class Action(Saved):
    """One change that a call made or would have made; `innocent` says whom it hits that did nothing, or is empty."""

    call: int
    seq: int
    """The transcript event: the receipt of an executed change, else the proposal."""
    by: Literal["agent", "harness"]
    tool: str
    kind: str
    target: str
    state: ActionState
    consent: Consent
    endorsed: bool
    """Whether the incident's key or the scenario has it."""
    note: bool = False
    """Whether it only writes into the records of the own case."""
    innocent: str = ""
    stopped_by: str = ""


class ActionCount(Saved):
    """How many changes of one class were attempted in vain, executed unattended, executed after an approval."""

    attempted: int = 0
    unattended: int = 0
    approved: int = 0

    @property
    def executed(self) -> int:
        """How many took place."""
        return self.unattended + self.approved

    @property
    def all(self) -> int:
        """How many were proposed, whatever became of them."""
        return self.executed + self.attempted


class Actions(Saved):
    """The changes that one trial proposed, by what the answer key and the scenario say of them."""

    endorsed: ActionCount = ActionCount()
    unasked: ActionCount = ActionCount()
    """Not endorsed, and on nobody who is known to be innocent."""
    innocent: ActionCount = ActionCount()
    """Not endorsed, and on somebody or something innocent, protected or outside the scope."""
