"""Tells what in the records is hostile: indicators, sessions, accounts, hosts, processes, files, keys, messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .desk import Desk, text_of
from .names import OWN_DOMAIN, named_in, of_kind, outside

SEVERE = frozenset({"Medium", "High", "Critical"})
_ON_HOST = ("Process", "File System", "Memory", "Registry", "Module", "Script", "Scheduled Job", "Detection", "Kernel")
_RUNS = (".exe", ".dll", ".js", ".ps1", ".jsp", ".hta", ".vbs", ".sh")
MOST_LOOKUPS, MOST_HOSTS = 7, 3


@dataclass(slots=True)
class Signs:
    """What the rules hold for hostile or taken over, and why a human may believe it."""

    hostile: dict[str, str] = field(default_factory=dict)
    """Address or domain to what the reputation service says."""
    insiders: list[str] = field(default_factory=list)
    accounts: list[str] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    sessions: list[dict[str, Any]] = field(default_factory=list)

    @property
    def found(self) -> bool:
        """Whether anything speaks for an attack."""
        return bool(self.hostile or self.insiders or self.hosts or self.keys)


def user_of(event: Mapping[str, Any]) -> str:
    """Return the account that acted in an event."""
    return str(event.get("actor.user.name") or event.get("user.name") or "")


def severe(desk: Desk) -> list[dict[str, Any]]:
    """Return the events that a sensor or rule found remarkable, oldest first."""
    return sorted((e for e in desk.events.values() if e.get("severity") in SEVERE), key=lambda e: int(e["time"]))


def read_signs(desk: Desk, alerted: Iterable[str]) -> Signs:
    """Read on from the alert until the rules can say what is hostile."""
    signs, named = Signs(), list(alerted)
    _judge_indicators(desk, signs, named)
    sessions = [s for s in desk.rows("identity.list_sessions", "sessions", limit=50) if s.get("state") == "active"]
    signs.sessions = [s for s in sessions if s.get("address") in signs.hostile]
    signs.keys = _keys(desk, signs, named)
    signs.accounts = _accounts(desk, signs)
    if not signs.hostile and "intel.lookup_indicator" not in desk.unread:
        _judge_insiders(desk, signs, named, sessions)
    signs.hosts = _hosts(desk, signs)
    _judge_services(desk, signs, named, sessions)
    return signs


def _judge_insiders(desk: Desk, signs: Signs, alerted: list[str], sessions: list[dict[str, Any]]) -> None:
    """Take the alerted accounts for the culprits, with the person who works from the same place."""
    alone = _busy(desk, alerted)
    places = {s.get("address") for s in sessions if s["user"] in alone}
    beside = [s for s in sessions if s.get("address") in places and s["user"] not in alone]
    signs.insiders = [*alone, *dict.fromkeys(s["user"] for s in beside if "." in s["user"])]
    signs.sessions = [s for s in beside if s["user"] not in signs.insiders]


def _judge_services(desk: Desk, signs: Signs, alerted: list[str], sessions: list[dict[str, Any]]) -> None:
    """Add what a service's account does from a host that runs foreign code, and an alerted one that acts oddly."""
    acting = {user_of(e) for e in severe(desk) if e.get("device.hostname") in signs.hosts}
    places = {e.get("src_endpoint.ip") for e in desk.events.values() if e.get("device.hostname") in signs.hosts}
    moved = [s for s in sessions if s["user"] in acting and s.get("address") in places and "." not in s["user"]]
    odd = [s for s in sessions if s["user"] in _busy(desk, alerted) and "." not in s["user"] and signs.hostile]
    new = [s for s in (*moved, *odd) if s not in signs.sessions and s["user"] not in signs.insiders]
    signs.sessions += [s for i, s in enumerate(new) if s not in new[:i]]
    signs.accounts += [u for u in dict.fromkeys(s["user"] for s in new) if u not in signs.accounts]


def _judge_indicators(desk: Desk, signs: Signs, alerted: list[str]) -> None:
    """Look up what stands in remarkable events and is not our own; what a hostile one leads to is looked up too."""
    asked: dict[str, None] = dict.fromkeys(n for n in alerted if of_kind(n, "address", "domain") and outside(n))
    counted = Counter(name for event in severe(desk) for name in _outsiders(event))
    asked |= dict.fromkeys(name for name, _ in counted.most_common())
    asked |= dict.fromkeys(_peers(desk, alerted))
    asked |= dict.fromkeys(name for event in _newcomers(desk) for name in _outsiders(event))
    for name in list(asked)[:MOST_LOOKUPS]:
        _look_up(desk, signs, name)
    for address in [name for name in signs.hostile if of_kind(name, "address")][:2]:
        desk.read("siem.search", query=f"ip:{address}", limit=50)
        for row in desk.rows("network.list_connections", "connections", remote=address):
            name = str(row.get("remote_name", ""))
            if name and outside(name) and name not in signs.hostile:
                _look_up(desk, signs, name)


def _peers(desk: Desk, alerted: list[str]) -> list[str]:
    """Return whom outside the alerted hosts talk to."""
    hosts = [name for name in alerted if of_kind(name, "host")][:2]
    rows = [row for host in hosts for row in desk.rows("network.list_connections", "connections", host=host)]
    return [str(row["remote_address"]) for row in rows if outside(str(row.get("remote_address", "")))]


def _newcomers(desk: Desk) -> list[dict[str, Any]]:
    """Return the events about names that were registered or seen for the first time only lately."""
    return desk.rows("siem.search", "events", query='"days old" OR "registered" OR "first seen today"', limit=50)


def _outsiders(event: Mapping[str, Any]) -> list[str]:
    names = [name for kind, name in named_in(text_of(event)) if kind in ("address", "domain")]
    senders = [name.rpartition("@")[2] for kind, name in named_in(text_of(event)) if kind == "mailbox"]
    return [name for name in dict.fromkeys([*names, *senders]) if outside(name)]


def _look_up(desk: Desk, signs: Signs, name: str) -> None:
    said = desk.read("intel.lookup_indicator", indicator=name)
    if said.get("verdict") in ("malicious", "suspicious") and said.get("confidence") != "low":
        signs.hostile[name] = f"{said['verdict']}: {said.get('summary', '')}"


def _from_hostile(event: Mapping[str, Any], signs: Signs) -> bool:
    return event.get("src_endpoint.ip") in signs.hostile


def _accounts(desk: Desk, signs: Signs) -> list[str]:
    """Return whose accounts a hostile address used."""
    used = [user_of(e) for e in desk.events.values() if _from_hostile(e, signs) and e.get("status") != "Failure"]
    return list(dict.fromkeys(name for name in [*used, *(s["user"] for s in signs.sessions)] if name))


def _keys(desk: Desk, signs: Signs, alerted: list[str]) -> list[str]:
    """Return the active keys that a hostile address used, or that act in several remarkable events."""
    counted = Counter(key for event in severe(desk) for key in of_kind(text_of(event), "key"))
    if not counted and not any(of_kind(name, "key") for name in alerted):
        return []
    rows = [row for row in desk.rows("cloud.list_keys", "keys") if row.get("status", "active") == "active"]
    return [r["id"] for r in rows if r.get("last_used_from") in signs.hostile or counted[r["id"]] >= 3]


def _busy(desk: Desk, alerted: list[str]) -> list[str]:
    """Return the alerted accounts that act in several remarkable events."""
    counted = Counter(user_of(event) for event in severe(desk))
    return [name for name in alerted if of_kind(name, "account") and counted[name] >= 3]


def _hosts(desk: Desk, signs: Signs) -> list[str]:
    """Return the hosts that ran what they should not: several remarkable events on them, or one and a hostile peer."""
    points: Counter[str] = Counter()
    for event in severe(desk):
        host, kind = str(event.get("device.hostname", "")), str(event.get("class_name", ""))
        if host and (kind.startswith(_ON_HOST) or event.get("dst_endpoint.ip") in signs.hostile):
            points[host] += 1 if event["severity"] == "Medium" else 2
    return [host for host, score in points.most_common(MOST_HOSTS) if score >= 3]


def hostile_process(process: Mapping[str, Any], desk: Desk, signs: Signs) -> bool:
    """Tell whether a running process is one that a sensor remarked on, or that talks to a hostile name."""
    if process.get("state", "running") != "running":
        return False
    pids = {e.get("process.pid") for e in severe(desk) if e.get("device.hostname") == process.get("host")}
    line = str(process.get("cmd_line", ""))
    return process.get("pid") in pids or any(name in line for name in signs.hostile)


def hostile_file(file: Mapping[str, Any], desk: Desk) -> bool:
    """Tell whether a file that can run is one that a sensor remarked on, or that nobody signed."""
    name = str(file.get("name", "")).casefold()
    hashes = {e.get("file.hashes.sha256") for e in severe(desk)} - {None}
    remarked = file.get("sha256") in hashes or file.get("signer") == "none"
    return name.endswith(_RUNS) and remarked and file.get("state", "present") == "present"


def hostile_rule(rule: Mapping[str, Any], signs: Signs) -> bool:
    """Tell whether a mailbox rule was made from a hostile address or sends mail to a hostile domain."""
    targets = [name.rpartition("@")[2] for name in of_kind(str(rule.get("action", "")), "mailbox")]
    made = rule.get("created_from") in signs.hostile
    return made or any(outside(name) and is_hostile(name, signs) for name in targets)


def is_hostile(domain: str, signs: Signs) -> bool:
    """Tell whether a domain or one above it is hostile."""
    return any(domain == name or domain.endswith(f".{name}") for name in signs.hostile)


def mailboxes(desk: Desk, signs: Signs) -> list[str]:
    """Return the mailboxes of our own that the case touches: those of the accounts, and those in remarkable events."""
    own = [f"{name}@{OWN_DOMAIN}" for name in signs.accounts if "." in name]
    seen = [name for event in severe(desk) for name in of_kind(text_of(event), "mailbox")]
    return list(dict.fromkeys([*own, *(name for name in seen if not outside(name.rpartition("@")[2]))]))[:2]
