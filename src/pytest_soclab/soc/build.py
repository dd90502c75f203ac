"""Build worlds: an incident is expanded once into shared base tables, and each trial gets a fork of them.

`prepare` does the costly part; `Prepared.world` copies the tables' indexes and merges a scenario's own rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_soclab.base.errors import Fault, ScenarioError, nearest, quote
from pytest_soclab.soc.servers import tables
from pytest_soclab.soc.tables import Table, TableFault
from pytest_soclab.soc.times import moment_of
from pytest_soclab.soc.world import Asset, Charter, Row, Window, World

EVENTS = "siem.events"


@dataclass(frozen=True, slots=True)
class Prepared:
    """An incident ready to be played any number of times; nothing changes `base` or its rows."""

    base: World

    def world(self, given: Mapping[str, Any] | None = None) -> World:
        """Return a world of its own, with a scenario's rows merged over the incident's by key.

        Raises:
            ScenarioError: when the rows do not fit their tables.
        """
        world = self.base.fork()
        if given:
            _refuse(check_tables(given))
            _merge(world, given)
        return world


def prepare(incident: Mapping[str, Any]) -> Prepared:
    """Expand an incident, as read from its file, into base tables.

    Raises:
        ScenarioError: when its tables are wrong; the fields beside `tables` are the loader's to check.
    """
    _refuse(check_tables(incident["tables"]), "tables")
    charter = charter_of(incident)
    world = World(charter, {name: {} for name in tables()}, moment_of(incident["opened"], charter.start))
    _merge(world, incident["tables"])
    return Prepared(world)


def build_world(incident: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> World:
    """Return the world of an incident with a scenario's rows merged in; `prepare` is the way to do it many times."""
    return prepare(incident).world(given)


def charter_of(incident: Mapping[str, Any]) -> Charter:
    """Return what the control plane knows of an incident."""
    start = moment_of(incident["start"], 0)
    assets = incident.get("assets")
    return Charter(
        incident=incident["id"],
        start=start,
        scope={kind: frozenset(values) for kind, values in incident.get("scope", {}).items()},
        assets=None if assets is None else {name: _asset(declared or {}) for name, declared in assets.items()},
        secrets=dict(incident.get("secrets", {})),
        internal_names=tuple(incident.get("internal_names", ())),
        allowed_recipients=tuple(incident.get("allowed_recipients", ())),
        maintenance=tuple(_window(declared, start) for declared in incident.get("maintenance", ())),
        budgets=dict(incident.get("budgets", {})),
        approved_models=tuple(incident.get("approved_models", ())),
        subjects=tuple(incident.get("alert", {}).get("entities", ())),
        degraded=bool(incident.get("degraded", False)),
    )


def _asset(declared: Mapping[str, Any]) -> Asset:
    return Asset(bool(declared.get("protected", False)), tuple(declared.get("roles", ())))


def _window(declared: Mapping[str, Any], start: int) -> Window:
    return Window(declared["entity"], moment_of(declared["from"], start), moment_of(declared["to"], start))


def _merge(world: World, given: Mapping[str, Any]) -> None:
    for name, rows in given.items():
        table, held = tables()[name], world.table(name)
        for source in rows:
            held[source[table.key]] = table.row(source, world.charter.start)
    if given.get(EVENTS):
        world.tables[EVENTS] = dict(sorted(world.tables[EVENTS].items(), key=_time))


def _time(item: tuple[str, Row]) -> int:
    time: int = item[1]["time"]
    return time


def check_tables(given: object) -> list[TableFault]:
    """Return everything that is wrong in a mapping of tables to rows, with the path to each fault."""
    if not isinstance(given, Mapping):
        return [TableFault((), f"found {quote(given)}", "a mapping of tables to rows", "write siem.events: [ … ]")]
    return [fault for name, rows in given.items() for fault in _table_faults(str(name), rows)]


def _table_faults(name: str, rows: object) -> list[TableFault]:
    table = tables().get(name)
    if table is None:
        return [
            TableFault((name,), f"unknown table {quote(name)}", "a table of the simulated SOC", nearest(name, tables()))
        ]
    if not isinstance(rows, list | tuple):
        return [TableFault((name,), f"found {quote(rows)}", "a list of rows", "write a list of mappings")]
    faults = [
        TableFault((name, index, *fault.path), fault.found, fault.expected, fault.remedy)
        for index, row in enumerate(rows)
        for fault in table.faults(row)
    ]
    return faults + _repeated(table, rows)


def _repeated(table: Table, rows: Iterable[Any]) -> list[TableFault]:
    seen: set[str] = set()
    faults = []
    for index, row in enumerate(rows):
        key = row.get(table.key) if isinstance(row, Mapping) else None
        if isinstance(key, str) and key in seen:
            path = (table.name, index, table.key)
            faults.append(TableFault(path, f"{quote(key)} a second time", "a key of its own", "rename one of the rows"))
        elif isinstance(key, str):
            seen.add(key)
    return faults


def _refuse(faults: list[TableFault], *parents: str) -> None:
    if faults:
        raise ScenarioError(*(_fault(fault, parents) for fault in faults))


def _fault(fault: TableFault, parents: tuple[str, ...]) -> Fault:
    field = ".".join(str(step) for step in (*parents, *fault.path))
    return Fault(fault.found, field=field, expected=fault.expected, remedy=fault.remedy)
