"""The closed sets that a scenario may name, gathered by the session because plugins may extend them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, TypeAdapter

CallFaults = Callable[[str, Mapping[str, Any]], Iterable[str]]
"""Yields what a tool's schema refuses in a call, one short text a fault; nothing where there is no such tool."""
TableFault = tuple[tuple[str | int, ...], str, str, str]
"""Path within the tables, what was found, what was expected, what to do."""


@dataclass(frozen=True)
class Vocabulary:
    """Oracles with the type of their parameter, harness steps with their model, tool names, and the table checker.

    `keys` holds the field that names a row, by table; `call_faults` holds a call against its tool's schema.
    """

    oracles: Mapping[str, TypeAdapter[Any]]
    harness: Mapping[str, type[BaseModel]]
    tools: frozenset[str]
    check_tables: Callable[[Mapping[str, Any]], Iterable[TableFault]]
    keys: Mapping[str, str] = field(default_factory=dict)
    call_faults: CallFaults = lambda _tool, _arguments: ()
