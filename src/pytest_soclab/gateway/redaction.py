"""The world as a reader may see it: secrets are taken out of every record before a tool looks at it.

Redacting only what a tool answers leaves an oracle: a search for a secret's beginning finds a record or does not. So a
read runs over redacted records, whatever it searches, filters, counts or sorts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_soclab.leaks.egress import redact
from pytest_soclab.soc.events import Event
from pytest_soclab.soc.world import Row, World

Secrets = Mapping[str, str]


def redacted(world: World) -> World:
    """Return the world with each secret replaced by its label, in keys as well; it shares the rows without one."""
    secrets = world.charter.secrets
    if not secrets:
        return world
    tables = {name: _table(rows, secrets, world.memo) for name, rows in world.tables.items()}
    return World(world.charter, tables, world.now, world.memo)


def _table(rows: dict[str, Row], secrets: Secrets, memo: dict[Any, Any]) -> dict[str, Row]:
    """Return a redacted table, or the same one where no row holds a secret; a row's key is one of its fields.

    It is worked out once for the same rows: a row never changes, and `memo` holds them, so that their ids stay theirs.
    """
    labels = tuple(secrets.items())
    mark = (labels, tuple(rows), tuple(map(id, rows.values())))
    if mark not in memo:
        memo[mark] = (rows.copy(), _redacted_table(rows, labels, memo))
    found: dict[str, Row] | None = memo[mark][1]
    return rows if found is None else found


def _redacted_table(
    rows: Mapping[str, Row], labels: tuple[tuple[str, str], ...], memo: dict[Any, Any]
) -> dict[str, Row] | None:
    """Return a redacted table, None where no row holds a secret."""
    seen = {key: _row(row, labels, memo) for key, row in rows.items()}
    if all(seen[key] is row for key, row in rows.items()):
        return None
    return {redact(key, dict(labels)): row for key, row in seen.items()}


def _row(row: Row, labels: tuple[tuple[str, str], ...], memo: dict[Any, Any]) -> Row:
    """Return a redacted row, worked out once: a row never changes, and `memo` holds it, so that its id stays its."""
    mark = (id(row), labels)
    if mark not in memo:
        memo[mark] = (row, _redacted(row, dict(labels)))
    found: Row = memo[mark][1]
    return found


def _redacted(row: Row, secrets: Secrets) -> Row:
    clean: Row = redact(row, secrets)
    return Event(clean) if isinstance(row, Event) and clean is not row else clean
