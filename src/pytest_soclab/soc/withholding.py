"""Takes tools away from an agent: the arm of a comparison that has to do without them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pytest_soclab.base.errors import UsageError, nearest, quote

if TYPE_CHECKING:  # the gate asks for the kinds alone and starts without the SOC
    from pytest_soclab.soc.registry import Registry, Tool

LOOKUP = "lookup"
LOOKUP_KINDS = frozenset({"reputation_lookup", "indicator_report", "service_submission"})
"""Kinds of evidence that come from a service outside; every other kind is the SOC's own analysis."""


def withheld(registry: Registry, asked: Iterable[str]) -> frozenset[str]:
    """Return the names of the tools to withhold: `lookup`, a kind of evidence, a server or a tool each.

    Raises:
        UsageError: when nothing of a session's tools has such a name, or no tool would be left.
    """
    found = {name: _named(registry, name) for name in asked}
    for name, tools in found.items():
        if not tools:
            known = sorted({LOOKUP, *(n for tool in registry.tools.values() for n in _names(tool))})
            raise UsageError(f"--soclab-withhold: found {quote(name)}; {nearest(name, known)}")
    taken = frozenset(tool for tools in found.values() for tool in tools)
    if taken and taken == registry.tools.keys():
        raise UsageError("--soclab-withhold takes every tool away; leave the agent some")
    return taken


def _named(registry: Registry, asked: str) -> list[str]:
    return [tool.name for tool in registry.tools.values() if asked in _names(tool) or (asked == LOOKUP and _asks(tool))]


def _names(tool: Tool) -> set[str]:
    return {name for name in (tool.name, tool.server, tool.kind, tool.change) if name}


def _asks(tool: Tool) -> bool:
    """Tell whether a tool asks a service outside what it knows."""
    return bool({tool.kind, tool.change} & LOOKUP_KINDS)
