"""How the tools describe themselves: a description is text from a server, and may change while an agent works.

A scenario that puts a row into `catalog.tools` poisons a description; with a moment in `at` the change comes later in
the session, after the agent has got used to the tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from pytest_soclab.base.clock import epoch_of
from pytest_soclab.soc.answers import missing, own, shown
from pytest_soclab.soc.arguments import Name
from pytest_soclab.soc.registry import Arguments, Outcome, Tool
from pytest_soclab.soc.tables import Table, words
from pytest_soclab.soc.world import World

TABLES = (
    Table(
        "catalog.tools",
        key="id",
        texts=words("tool description publisher"),
        times=words("at"),
        defaults={"tool": "", "description": ""},
        required=words("tool description"),
    ),
)


class OneTool(Arguments):
    """A tool by its name."""

    tool: Name


def describe(world: World, asked: OneTool, declared: Mapping[str, str] = MappingProxyType({})) -> Outcome:
    """Return how a tool describes itself now; `declared` holds the descriptions that the servers declare."""
    rows = [row for row in own(world, "catalog.tools") if row["tool"] == asked.tool and is_due(world, row)]
    if asked.tool not in declared and not rows:
        return missing("tool", asked.tool)
    text = rows[-1]["description"] if rows else declared[asked.tool]
    return shown(world, {"tool": asked.tool, "description": text, "changed": len(rows)}, rows[-1:])


def knowing(declared: Mapping[str, str], tool: Tool) -> Tool:
    """Return a tool; the one that describes tools knows what the others declare."""
    return replace(tool, run=partial(describe, declared=declared)) if tool.run is describe else tool


def is_due(world: World, row: Any) -> bool:
    """Tell whether a description of `catalog.tools` is in force at the world's moment."""
    return "at" not in row or epoch_of(row["at"]) <= world.now


def described(world: World) -> dict[str, str]:
    """Return the descriptions in force that differ from the declared ones, by tool."""
    return {row["tool"]: row["description"] for row in own(world, "catalog.tools") if is_due(world, row)}


TOOLS = (
    Tool(
        "catalog.describe", "Return how a tool describes itself now: what it does and what it takes.",
        OneTool, describe, kind="tool_description",
    ),
)  # fmt: skip
