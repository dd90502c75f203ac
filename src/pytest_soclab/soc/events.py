"""SIEM events under the names of the Open Cybersecurity Schema Framework (https://schema.ocsf.io), flattened with dots.

An incident file writes an event in shorthand (`user`, `host`, `cmd`); the world holds the OCSF name. What OCSF has no
name for (`incident`) keeps its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pytest_soclab.base.clock import rfc3339
from pytest_soclab.soc.tables import INCIDENT, Table, plain, words
from pytest_soclab.soc.times import moment_of
from pytest_soclab.soc.world import Row

SHORTHANDS: Mapping[str, str] = {
    "id": "uid", "source": "metadata.product.name", "class": "class_name", "activity": "activity_name",
    "user": "actor.user.name", "target_user": "user.name", "host": "device.hostname", "session": "session.uid",
    "auth": "auth_protocol", "mfa": "is_mfa", "src_ip": "src_endpoint.ip", "src_host": "src_endpoint.hostname",
    "src_country": "src_endpoint.location.country", "dst_ip": "dst_endpoint.ip", "dst_host": "dst_endpoint.hostname",
    "dst_port": "dst_endpoint.port", "bytes_in": "traffic.bytes_in", "bytes_out": "traffic.bytes_out",
    "process": "process.name", "cmd": "process.cmd_line", "pid": "process.pid", "parent": "process.parent_process.name",
    "file": "file.name", "path": "file.path", "sha256": "file.hashes.sha256", "query": "query.hostname",
    "rdata": "answers.rdata", "url": "http_request.url.url_string", "user_agent": "http_request.user_agent",
    "cert_subject": "tls.certificate.subject", "from": "email.from", "to": "email.to", "subject": "email.subject",
    "mail_id": "email.message_uid", "operation": "api.operation", "service": "api.service.name",
    "key": "actor.user.credential_uid", "resource": "resources.name", "group": "group.name",
    "detection": "finding_info.title",
}  # fmt: skip
"""The shorthand of each OCSF attribute that incident files use."""

PLAIN = words("status status_detail severity message")
"""Fields whose OCSF name has no dot and is written as it stands."""


class EventClass(NamedTuple):
    """An OCSF event class."""

    uid: int
    category: str


_SYSTEM, _FINDINGS, _IAM = "System Activity", "Findings", "Identity & Access Management"
_NETWORK, _APPLICATION = "Network Activity", "Application Activity"
CLASSES: Mapping[str, EventClass] = {
    "Base Event": EventClass(0, "Uncategorized"),
    "File System Activity": EventClass(1001, _SYSTEM),
    "Module Activity": EventClass(1005, _SYSTEM),
    "Scheduled Job Activity": EventClass(1006, _SYSTEM),
    "Process Activity": EventClass(1007, _SYSTEM),
    "Event Log Activity": EventClass(1008, _SYSTEM),
    "Script Activity": EventClass(1009, _SYSTEM),
    "Detection Finding": EventClass(2004, _FINDINGS),
    "Data Security Finding": EventClass(2006, _FINDINGS),
    "Account Change": EventClass(3001, _IAM),
    "Authentication": EventClass(3002, _IAM),
    "Authorize Session": EventClass(3003, _IAM),
    "Entity Management": EventClass(3004, _IAM),
    "User Access Management": EventClass(3005, _IAM),
    "Group Management": EventClass(3006, _IAM),
    "Network Activity": EventClass(4001, _NETWORK),
    "HTTP Activity": EventClass(4002, _NETWORK),
    "DNS Activity": EventClass(4003, _NETWORK),
    "DHCP Activity": EventClass(4004, _NETWORK),
    "RDP Activity": EventClass(4005, _NETWORK),
    "SMB Activity": EventClass(4006, _NETWORK),
    "SSH Activity": EventClass(4007, _NETWORK),
    "Email Activity": EventClass(4009, _NETWORK),
    "Tunnel Activity": EventClass(4014, _NETWORK),
    "Web Resources Activity": EventClass(6001, _APPLICATION),
    "Application Lifecycle": EventClass(6002, _APPLICATION),
    "API Activity": EventClass(6003, _APPLICATION),
    "Datastore Activity": EventClass(6005, _APPLICATION),
    "File Hosting Activity": EventClass(6006, _APPLICATION),
    "Scan Activity": EventClass(6007, _APPLICATION),
}
"""The OCSF event classes in use by name, with uid and category (schema 1.3)."""

_INFERRED = (
    ("query", "DNS Activity"), ("cmd", "Process Activity"), ("mail_id", "Email Activity"),
    ("operation", "API Activity"),
    ("url", "HTTP Activity"), ("file", "File System Activity"), ("dst_ip", "Network Activity"),
)  # fmt: skip


class Event(dict[str, Any]):
    """An event row; `haystack` is the lower-case text of all its values, one a line, made once."""

    __slots__ = ("haystack",)

    def __init__(self, row: Mapping[str, Any]) -> None:
        super().__init__(row)
        self.haystack = "\n".join(_texts(row.values())).lower()


def _texts(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, list):
            yield from _texts(value)
        else:
            yield str(value)


def haystack(row: Row) -> str:
    """Return the searchable text of an event row."""
    return row.haystack if isinstance(row, Event) else Event(row).haystack


def class_of(source: Mapping[str, Any]) -> str:
    """Return the OCSF class of a row of a file, inferred from its fields where it names none."""
    named = source.get("class", source.get("class_name"))
    if isinstance(named, str):
        return named
    return next((name for mark, name in _INFERRED if mark in source or SHORTHANDS[mark] in source), "Base Event")


def expand(source: Mapping[str, Any], start: int) -> Event:
    """Return the event row of the world for a row of a file."""
    moment, name = moment_of(source["at"], start), class_of(source)
    known = CLASSES.get(name, CLASSES["Base Event"])
    row = {
        "uid": source["id"],
        "time": moment * 1000,
        "time_dt": rfc3339(moment),
        "class_name": name,
        "class_uid": known.uid,
        "category_name": known.category,
        "severity": source.get("severity", "Informational"),
    }
    rest = {SHORTHANDS.get(field, field): plain(value) for field, value in source.items() if field != "at"}
    return Event(row | rest)


EVENTS = Table(
    "siem.events",
    key="id",
    texts=frozenset(SHORTHANDS) - words("id rdata to mfa dst_port pid bytes_in bytes_out") | PLAIN,
    numbers=words("dst_port pid bytes_in bytes_out"),
    flags=words("mfa"),
    lists=words("rdata to"),
    times=words("at"),
    required=words("at"),
    choices={
        "class": frozenset(CLASSES),
        "severity": words("Unknown Informational Low Medium High Critical Fatal"),
        "status": words("Unknown Success Failure Other"),
    },
    expand=expand,
    open_fields=True,
)
"""The table of events; its rows are keyed by `uid`, which a file writes `id`."""

OWN_FIELDS = frozenset({"uid", "time", "time_dt", "class_name", "class_uid", "category_name", INCIDENT}) | PLAIN
