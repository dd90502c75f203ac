"""The closed sets that a scenario may name, gathered by the session because plugins may extend them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, TypeAdapter

TableFault = tuple[tuple[str | int, ...], str, str, str]
"""Path within the tables, what was found, what was expected, what to do."""


@dataclass(frozen=True)
class Vocabulary:
    """Oracles with the type of their parameter, harness steps with their model, tool names, and the table checker."""

    oracles: Mapping[str, TypeAdapter[Any]]
    harness: Mapping[str, type[BaseModel]]
    tools: frozenset[str]
    check_tables: Callable[[Mapping[str, Any]], Iterable[TableFault]]
