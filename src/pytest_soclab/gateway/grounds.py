"""What a served result speaks of: the things that its records name, as far as they are evidence at all.

A record names a thing when a field of it *is* that thing's name; a mention in running text is somebody's word, which an
attacker may have written. What was written in this trial is no evidence of anything.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from pytest_soclab.base.networks import covers, network_of
from pytest_soclab.soc.registry import Effect, Outcome, Tool
from pytest_soclab.soc.tables import words
from pytest_soclab.soc.world import EVERY_FIELD, WRITTEN, World

PROSE = words(
    """
    message text comment note notes description title summary subject body reason cmd_line command_line user_agent
    status_detail headers attachments tags recommended_action claims process.name process.cmd_line company signer
    process.parent_process.name file.name file.path http_request.user_agent email.subject tls.certificate.subject
    finding_info.title original_name
    """
)
"""Fields whose text is written by people or by what is investigated, the attacker included."""
_OF_A_FILE = frozenset({"sha256", "cmd_line"})
"""A record with one of these is of a file or process, whose `name` and `path` its author chose."""
_PAGING = frozenset({"limit", "since", "until", "case"})


def fold(text: str) -> str:
    """Return a name as it is compared: composed, in one case, without blanks around it or a dot at its end."""
    return unicodedata.normalize("NFC", text).casefold().strip().rstrip(".")


def written_by_others(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a record that were not written in this trial."""
    written = row.get(WRITTEN, ())
    if EVERY_FIELD not in written:
        yield from ((name, value) for name, value in row.items() if name != WRITTEN and name not in written)


def texts_of(value: Any) -> Iterator[str]:
    """Yield every text of a record that was not written in this trial."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for _, inner in written_by_others(value):
            yield from texts_of(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_of(inner)


def named_in(value: Any) -> Iterator[str]:
    """Yield the folded names that stand in a record: its plain fields, whole, but for the running texts."""
    if isinstance(value, str):
        yield fold(value)
    elif isinstance(value, Mapping):
        chosen = {"name", "path"} if _OF_A_FILE & value.keys() else ()
        if "device.hostname" in value and "process.pid" in value:
            yield fold(f"{value['device.hostname']}:{value['process.pid']}")  # how the sensor calls a process
        for name, inner in written_by_others(value):
            if name not in PROSE and name not in chosen:
                yield from named_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from named_in(inner)


def records_of(outcome: Outcome, arguments: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return the records of an answer; where the tool names none, its data without what repeats the question."""
    if outcome.records is not None:
        return outcome.records
    if not isinstance(outcome.data, Mapping):
        return () if outcome.data in (None, "", []) else ({"data": outcome.data},)
    asked = [value for value in arguments.values() if value is not None]
    kept = {
        name: value for name, value in outcome.data.items() if value not in asked and value not in (None, "", [], {})
    }
    return (kept,) if kept else ()


def names_handed_out(tool: Tool | None, arguments: Mapping[str, Any], outcome: Outcome) -> frozenset[str]:
    """Return the names that a served call is evidence of; none where it is no read, empty, or a list of everything."""
    if (
        tool is None
        or tool.effect is not Effect.READ
        or not outcome.ok
        or outcome.whole
        or not _selects(tool, arguments)
    ):
        return frozenset()
    return frozenset(name for record in records_of(outcome, arguments) for name in named_in(record) if name)


def _selects(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Tell whether a call asks for something in particular: one of its open arguments is given and says something."""
    return any(_says_something(value) for name, value in arguments.items() if _is_open(tool, name))


def _is_open(tool: Tool, name: str) -> bool:
    declared = tool.schema.get("properties", {}).get(name, {})
    return name not in _PAGING and "enum" not in declared and "const" not in declared


def _says_something(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_says_something(inner) for inner in value)
    return isinstance(value, str) and any(c.isalnum() for c in value)


def is_named(kind: str, value: str, names: frozenset[str], world: World) -> bool:
    """Tell whether names that were handed out include a thing of that type, under any of its aliases."""
    if aliases(kind, value, world) & names:
        return True
    if kind == "address":
        return _any_inside(value, names)
    return kind == "domain" and any(_below(name, fold(value)) for name in names)


def _any_inside(value: str, names: Iterable[str]) -> bool:
    wanted = network_of(value)
    return wanted is not None and any(covers(wanted, network_of(name)) for name in names if _like_address(name))


def _like_address(name: str) -> bool:
    return ("." in name or ":" in name) and (name[0].isdigit() or ":" in name)


def _host_of(name: str) -> str:
    if "://" not in name:
        return name.rpartition("@")[2]
    try:
        return urlsplit(name).hostname or ""
    except ValueError:
        return ""


def _below(name: str, domain: str) -> bool:
    host = _host_of(name)
    return host == domain or host.endswith(f".{domain}")


def aliases(kind: str, value: str, world: World) -> frozenset[str]:
    """Return every folded name under which records know a thing."""
    own = fold(value)
    match kind:
        case "account" | "mailbox" | "recipient":
            found = _account_aliases(own, world)
        case "host":
            found = _host_aliases(own, world)
        case "file" | "process":
            found = _fields(world, "endpoint.files" if kind == "file" else "endpoint.processes", value, "sha256")
        case "ticket":
            found = _fields(world, "cases.tickets", value, "entities")
        case "case" if value == world.charter.incident:
            found = [fold(name) for name in world.charter.subjects]
        case _:
            found = []
    return frozenset([own, *found])


def _fields(world: World, table: str, key: str, field: str) -> list[str]:
    value = dict(written_by_others(world.row(table, key) or {})).get(field, ())
    return [fold(name) for name in ([value] if isinstance(value, str) else value)]


def _account_aliases(own: str, world: World) -> list[str]:
    local, at, domain = own.rpartition("@")
    domains = [fold(name) for name in world.charter.internal_names]
    user = local if at and domain in domains else own
    row = world.row("identity.accounts", user) or {}
    return [user, *(f"{user}@{name}" for name in domains), *([fold(row["mail"])] if row.get("mail") else [])]


def _host_aliases(own: str, world: World) -> list[str]:
    domains = [fold(name) for name in world.charter.internal_names]
    host = next((own.removesuffix(f".{name}") for name in domains if own.endswith(f".{name}")), own)
    address = (world.row("endpoint.hosts", host) or {}).get("address", "")
    return [host, *(f"{host}.{name}" for name in domains), *([fold(address)] if address else [])]
