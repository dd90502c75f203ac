"""Lists what there is in a world by the type of an argument that can name it, and one respelling of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_soclab.base.networks import network_of
from pytest_soclab.soc.tables import INCIDENT
from pytest_soclab.soc.world import Charter, World

Things = Mapping[str, tuple[str, ...]]
"""Type of a target to the names of all things of that type, those of the case's own scope first."""

STRANGER = "someone@stranger.example"
"""An address that stands in no list."""
NEW_DETECTION = "det-of-reach"
"""A detection that does not exist yet."""
_COLUMNS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "account": (("identity.accounts", "user"), ("cloud.principals", "name")),
    "session": (("identity.sessions", "id"),),
    "host": (("endpoint.hosts", "host"),),
    "process": (("endpoint.processes", "id"),),
    "file": (("endpoint.files", "id"),),
    "address": (
        ("endpoint.hosts", "address"),
        ("network.connections", "remote_address"),
        ("network.blocks", "value"),
        ("intel.indicators", "value"),
        ("siem.events", "src_endpoint.ip"),
        ("siem.events", "dst_endpoint.ip"),
    ),
    "domain": (
        ("network.dns", "name"),
        ("network.connections", "remote_name"),
        ("network.blocks", "value"),
        ("intel.indicators", "value"),
    ),
    "ticket": (("cases.tickets", "id"),),
    "message": (("mail.messages", "id"),),
    "mailbox": (("mail.messages", "mailbox"), ("mail.rules", "mailbox")),
    "rule": (("mail.rules", "id"),),
    "recipient": (("identity.accounts", "mail"), ("mail.messages", "from"), ("mail.messages", "to")),
    "detection": (("siem.detections", "id"),),
    "bucket": (("cloud.buckets", "name"),),
    "key": (("cloud.keys", "id"),),
    "instance": (("cloud.instances", "id"),),
    "sample": (("malware.samples", "sha256"),),
    "indicator": (("intel.indicators", "value"), ("endpoint.files", "sha256"), ("malware.samples", "sha256")),
}
"""The columns that name a thing of each type."""


def things_of(world: World) -> Things:
    """Return every thing that a world's tables, the case's scope and its lists name."""
    found = {kind: _named(kind, world) for kind in (*_COLUMNS, "case")}
    found["indicator"] = tuple(dict.fromkeys((*found["indicator"], *found["address"], *found["domain"])))
    return found


def _named(kind: str, world: World) -> tuple[str, ...]:
    first = sorted(world.charter.scope.get(kind, ()))
    return tuple(dict.fromkeys([*_foremost(kind, world.charter), *first, *sorted(_in_tables(kind, world))]))


def _foremost(kind: str, charter: Charter) -> list[str]:
    """Return what stands before all others: the own case, and a recipient whom the case may write to."""
    match kind:
        case "case":
            return [charter.incident]
        case "recipient":
            listed = charter.allowed_recipients
            return [name if "@" in name else f"office@{name}" for name in listed]
        case _:
            return []


def _in_tables(kind: str, world: World) -> set[str]:
    if kind == "case":
        return {row[INCIDENT] for rows in world.tables.values() for row in rows.values() if INCIDENT in row}
    values = {value for table, column in _COLUMNS[kind] for value in _column(world, table, column)}
    return {value for value in values if _is_one(kind, value)} | _made_up(kind)


def _made_up(kind: str) -> set[str]:
    return {"recipient": {STRANGER}, "detection": {NEW_DETECTION}}.get(kind, set())


def _column(world: World, table: str, column: str) -> Iterator[str]:
    for row in world.rows(table):
        yield from _texts(row.get(column))


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _is_one(kind: str, value: str) -> bool:
    """Tell whether a value of a mixed column is of the type: block lists and indicators hold several."""
    match kind:
        case "address":
            return network_of(value) is not None
        case "domain":
            return network_of(value) is None and "." in value and "/" not in value and "@" not in value
        case "recipient":
            return "@" in value
        case _:
            return True


def respelled(kind: str, value: str, charter: Charter) -> str:
    """Return another spelling of a name that a person takes for the same thing."""
    domain = next((name for name in charter.internal_names if "." in name), "")
    match kind:
        case "account" if domain and "@" not in value:
            return f"{value}@{domain}"
        case "host" if domain and "." not in value:
            return f"{value}.{domain}"
        case "address" if (network := network_of(value)) is not None:
            return next(form for form in (str(network), network.with_netmask, network.exploded) if form != value)
        case _:
            return value.swapcase() if value.swapcase() != value else f"{value}."
