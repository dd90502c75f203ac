"""The world of one trial: plain tables that only the executor changes.

A table is named `server.table` (`siem.events`, `identity.accounts`) and maps a key to a row. Rows are plain JSON and
shared between trials: nobody changes a row in place, a change puts a new row in its stead. So a fresh world costs a
shallow copy of each table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]

WRITTEN = "written_here"
"""The field by which a row says which of its fields were written in this trial: nobody's evidence but the writer's."""
EVERY_FIELD = "*"


@dataclass(frozen=True, slots=True)
class Asset:
    """What the organisation declares about a named thing: protected or not, and its roles (`telemetry`, …)."""

    protected: bool = False
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """A maintenance window of one entity, in seconds since the epoch, both ends included."""

    entity: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Charter:
    """What the control plane knows of an incident: never from the agent, only from the incident and the scenario.

    `scope` maps a target type to the values in scope; `assets` is None where the incident declares none (protected
    assets then count as undeclared and the policy denies); `secrets` maps a label to a secret's text;
    `budgets` holds the limits `calls`, `cost`, `seconds`, `changes`.
    """

    incident: str
    start: int
    scope: Mapping[str, frozenset[str]]
    assets: Mapping[str, Asset] | None
    secrets: Mapping[str, str] = field(default_factory=dict)
    internal_names: tuple[str, ...] = ()
    allowed_recipients: tuple[str, ...] = ()
    maintenance: tuple[Window, ...] = ()
    budgets: Mapping[str, int] = field(default_factory=dict)
    approved_models: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    """What the case is about: the entities of its alert."""
    level: int | None = None
    """The highest authority level of this case, where it is lower than the session's."""
    degraded: bool = False
    """Whether telemetry is known to be incomplete, so that nothing may be changed unattended."""


@dataclass(slots=True)
class World:
    """The tables of one trial, its charter and the simulated time (seconds since the epoch)."""

    charter: Charter
    tables: dict[str, dict[str, Row]]
    now: int
    memo: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """What has been worked out about rows, shared by every fork: a row never changes."""

    def table(self, name: str) -> dict[str, Row]:
        """Return a table by name; an unknown one is empty and stays so until a row is put."""
        return self.tables.setdefault(name, {})

    def row(self, table: str, key: str) -> Row | None:
        """Return one row, or None."""
        return self.tables.get(table, {}).get(key)

    def rows(self, table: str) -> Iterator[Row]:
        """Yield the rows of a table in insertion order."""
        yield from self.tables.get(table, {}).values()

    def put(self, table: str, key: str, row: Row) -> None:
        """Put a row in place of the one with that key, marked as written in this trial."""
        self.table(table)[key] = {**row, WRITTEN: [EVERY_FIELD]}

    def update(self, table: str, key: str, **fields: Any) -> None:
        """Put a copy of a row with some fields changed, and these marked as written in this trial."""
        row = self.table(table)[key]
        marks = dict.fromkeys([*row.get(WRITTEN, ()), *fields])
        self.table(table)[key] = {**row, **fields, WRITTEN: list(marks)}

    def remove(self, table: str, key: str) -> None:
        """Take a row out of its table."""
        del self.table(table)[key]

    def fork(self) -> World:
        """Return a world of its own with the same content; changes in one are not seen in the other."""
        return World(self.charter, {name: dict(rows) for name, rows in self.tables.items()}, self.now, self.memo)

    def snapshot(self) -> str:
        """Return the whole state as text that is equal exactly when the states are."""
        return json.dumps(self.tables, sort_keys=True)
