"""The saved shape of a trial's answers: each fact of the incident's key, how it was answered, and on what evidence."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Word = Literal["found", "partly (body)", "partly (dump)", "missed", "wrong"]
"""A scoring word of the known-answer gate, best first."""
EVENT = "answers"
"""The type of the transcript event that holds a trial's answers."""


class Answer(BaseModel):
    """One fact: `item` is its name within the incident (`T1621`), `evidence` what was cited for it, by id and kind."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    item: str
    word: Word
    trap: bool = False
    """Whether the fact is that somebody innocent was left alone."""
    evidence: tuple[tuple[str, str], ...] = ()


class Answers(BaseModel):
    """All answers of one trial."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    incident: str
    withheld: tuple[str, ...] = ()
    """The tools that were taken from the agent."""
    answers: tuple[Answer, ...]
