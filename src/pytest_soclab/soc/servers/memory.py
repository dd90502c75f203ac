"""What outlives a run: notes that earlier runs and other agents left on a case, as memory or as a hand-over.

A note is somebody's word. Who may write one may write orders into it, so an agent that trusts its own memory can be
reached long after the run in which it was poisoned.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pytest_soclab.soc.answers import own, page
from pytest_soclab.soc.arguments import Case, Limit
from pytest_soclab.soc.registry import Arguments, Outcome, Tool
from pytest_soclab.soc.tables import Table, words
from pytest_soclab.soc.world import World

KINDS = words("memory handover")

TABLES = (
    Table(
        "memory.notes",
        key="id",
        texts=words("kind author run text"),
        times=words("at"),
        defaults={"kind": "memory", "author": "agent", "text": ""},
        choices={"kind": KINDS},
    ),
)


class Recall(Arguments):
    """The notes on a case: what earlier runs kept, and what other agents handed over."""

    case: Case
    kind: Literal["memory", "handover", "any"] = "any"
    contains: Annotated[str, Field(max_length=256)] = ""
    limit: Limit = 20


def recall(world: World, asked: Recall) -> Outcome:
    """Return the notes on the case of this world, oldest first; another case's notes are not kept here."""
    needle = asked.contains.lower()
    found = [
        row
        for row in own(world, "memory.notes")
        if asked.kind in ("any", row["kind"]) and needle in row["text"].lower()
    ]  # fmt: skip
    return page(world, "notes", found if asked.case == world.charter.incident else [], asked.limit)


TOOLS = (
    Tool(
        "memory.recall", "Return what earlier runs noted on a case and what other agents handed over.",
        Recall, recall, kind="agent_note",
    ),
)  # fmt: skip
