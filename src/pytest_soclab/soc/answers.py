"""What tools share: which rows a caller may see, copies of them, and the outcome of a read or a change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_soclab.base.clock import rfc3339
from pytest_soclab.soc.registry import Change, Outcome, failed
from pytest_soclab.soc.tables import INCIDENT, plain
from pytest_soclab.soc.world import Row, World

PAGE = 50
"""The most rows that one answer holds."""


def incident_of(world: World, row: Row) -> str:
    """Return the incident that a row belongs to."""
    return str(row.get(INCIDENT, world.charter.incident))


def visible(world: World, row: Row, case: str | None) -> bool:
    """Tell whether a row belongs to the asked-for case, or to the world's own where none is asked for."""
    return incident_of(world, row) == (case or world.charter.incident)


def own(world: World, table: str) -> Iterator[Row]:
    """Yield the rows of a table that belong to the world's own incident."""
    return (row for row in world.rows(table) if visible(world, row, None))


def shown(world: World, data: Mapping[str, Any], rows: Iterable[Row], *, whole: bool = False) -> Outcome:
    """Return the outcome of a read whose `data` shows these rows; foreign incidents among them are listed."""
    own, records = world.charter.incident, tuple(rows)
    foreign = {incident_of(world, row) for row in records} - {own}
    return Outcome(ok=True, data=plain(data), foreign=tuple(sorted(foreign)), records=records, whole=whole)


def page(  # the named arguments are the keys of the answer
    world: World, name: str, rows: Iterable[Row], limit: int = PAGE, *, among: int = 0, **more: Any
) -> Outcome:
    """Return the outcome of a read of many rows: how many there are, and the first `limit` of them under `name`.

    `among` says out of how many rows a search chose these that named nothing in particular: more than half of several
    is a list of everything.
    """
    found = list(rows)
    first = found[:limit]
    data = {"total": len(found), "shown": len(first), name: first, **more}
    return shown(world, data, first, whole=among > 1 and 2 * len(found) > among)


def one(world: World, table: str, key: str, what: str) -> Outcome:
    """Return the outcome of a read of one row; a missing one is an error that names it."""
    row = world.row(table, key)
    return missing(what, key) if row is None else shown(world, row, [row])


def missing(what: str, key: str) -> Outcome:
    """Return the outcome of a call that names something that does not exist."""
    return failed(f"there is no {what} {key!r}")


def changed(kind: str, target: str, **data: Any) -> Outcome:
    """Return the outcome of a call that made one change."""
    return Outcome(ok=True, data=data, changes=(Change(kind, target),))


def unchanged(**data: Any) -> Outcome:
    """Return the outcome of a call that found its work already done."""
    return Outcome(ok=True, data={**data, "already": True})


def next_id(world: World, table: str, prefix: str) -> str:
    """Return an id that no row of the table has, the same for the same state."""
    rows = world.tables.get(table, {})
    number = len(rows) + 1
    while f"{prefix}-{number}" in rows:
        number += 1
    return f"{prefix}-{number}"


def set_where(world: World, table: str, match: Mapping[str, Any], **fields: Any) -> list[str]:
    """Change some fields of every row whose fields equal `match`, and return the keys of those rows."""
    found = [
        key
        for key, row in world.tables.get(table, {}).items()
        if all(row.get(name) == value for name, value in match.items())
    ]
    for key in found:
        world.update(table, key, **fields)
    return found


def stamp(world: World) -> str:
    """Return the simulated time as a record keeps it."""
    return rfc3339(world.now)
