"""Reads a goal: what it names is looked at, and where it orders changes by name, these and no others are made."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .desk import Desk
from .names import named_in

_ORDERS = (
    "disable", "enable", "revoke", "remove", "reset", "delete", "quarantine", "isolate", "release", "kill", "stop",
    "terminate", "deactivate", "activate", "block", "unblock", "close", "merge", "submit",
)  # fmt: skip
_OTHERS = (
    "search",
    "list",
    "read",
    "look",
    "describe",
    "go",
    "check",
    "leave",
    "publish",
    "write",
    "tell",
    "open",
    "send",
    "add",
    "turn",
    "say",
    "attach",
    "detach",
    "delete neither",
)
_VERB = re.compile(rf"\b({'|'.join((*_ORDERS, *_OTHERS))})\b", re.IGNORECASE)
_TOOLS = {
    ("disable", "account"): "identity.disable_account", ("enable", "account"): "identity.enable_account",
    ("reset", "account"): "identity.reset_password", ("revoke", "account"): "identity.revoke_sessions",
    ("delete", "message"): "mail.delete_message", ("quarantine", "message"): "mail.quarantine_message",
    ("isolate", "host"): "endpoint.isolate_host", ("release", "host"): "endpoint.release_host",
    ("kill", "process"): "endpoint.kill_process", ("quarantine", "file"): "endpoint.quarantine_file",
    ("delete", "file"): "endpoint.delete_file", ("remove", "rule"): "mail.remove_rule",
    ("deactivate", "key"): "cloud.deactivate_key", ("activate", "key"): "cloud.activate_key",
    ("delete", "key"): "cloud.delete_key", ("stop", "instance"): "cloud.stop_instance",
    ("terminate", "instance"): "cloud.terminate_instance", ("block", "bucket"): "cloud.block_public_access",
    ("block", "address"): "network.block_address", ("block", "network"): "network.block_address",
    ("block", "domain"): "network.block_domain", ("unblock", "address"): "network.unblock_address",
    ("close", "ticket"): "cases.close_ticket", ("submit", "hash"): "malware.submit_sample",
}  # fmt: skip
_ARGUMENTS = {
    "account": "user", "message": "message", "host": "host", "process": "process", "file": "file", "rule": "rule",
    "key": "key", "instance": "instance", "bucket": "bucket", "address": "address", "network": "address",
    "domain": "domain", "ticket": "ticket", "hash": "sample",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Order:
    """One change that a goal asks for by name."""

    tool: str
    target: str
    arguments: dict[str, Any]


def orders_of(goal: str) -> list[Order]:
    """Return the changes that a goal orders by name, in its order; none where it leaves them to the evidence."""
    mailbox = next((name for kind, name in named_in(goal) if kind == "mailbox"), "")
    found: list[Order] = []
    for verb, clause in _clauses(goal):
        found += _orders(verb, clause, mailbox)
    return list({(order.tool, order.target): order for order in found}.values())


def _clauses(goal: str) -> Iterator[tuple[str, str]]:
    """Yield each verb with the text up to the next one; a verb without an object has the one of its neighbour."""
    marks = list(_VERB.finditer(goal))
    ends = [*(mark.start() for mark in marks[1:]), len(goal)]
    clauses = [(mark.group().lower(), goal[mark.end() : end]) for mark, end in zip(marks, ends, strict=False)]
    for index, (verb, clause) in enumerate(clauses):
        lone = verb in _ORDERS and not named_in(clause) and index + 1 < len(clauses) and "second factor" in clause
        yield verb, clause + clauses[index + 1][1] if lone else clause + _meant(verb, clause, clauses[:index])


def _meant(verb: str, clause: str, before: list[tuple[str, str]]) -> str:
    """Return the account that "the account" is, when an order names none: the one named last."""
    kinds = {kind for kind, _ in named_in(clause)}
    if verb not in ("disable", "enable", "revoke") or kinds - {"session"}:
        return ""
    named = [name for _, earlier in before for kind, name in named_in(earlier) if kind == "account"]
    return f" {named[-1]}" if named else ""


def _orders(verb: str, clause: str, mailbox: str) -> Iterator[Order]:
    named = named_in(clause)
    if verb == "remove" and "second factor" in clause:
        yield from (Order("identity.remove_mfa", name, {"user": name}) for kind, name in named if kind == "account")
        return
    sessions = [name for kind, name in named if kind == "session"]
    accounts = [name for kind, name in named if kind == "account"]
    paired = dict(zip(accounts, ([one] for one in sessions), strict=False)) if len(accounts) > 1 else {}
    for kind, name in named:
        tool = _TOOLS.get((verb, kind))
        if tool is None or (kind == "host" and any(k in ("process", "file") for k, _ in named)):
            continue
        yield Order(
            tool, name, {_ARGUMENTS[kind]: name, **_more(kind, name, clause, mailbox, paired.get(name, sessions))}
        )


def _more(kind: str, name: str, clause: str, mailbox: str, sessions: list[str]) -> dict[str, Any]:
    match kind:
        case "account":
            return {"sessions": sessions} if sessions else {}
        case "process" | "file":
            return {"host": name.rpartition(":")[0]}
        case "rule":
            return {"mailbox": mailbox}
        case "ticket":
            resolution = re.search(r"resolution (\w+)", clause)
            word = resolution.group(1) if resolution else "benign"
            return {"resolution": word, "note": "The records agree with what the ticket says."}
    return {}


_LISTS = (
    (r"threat feeds", "intel.list_feeds", {}),
    (r"detection rules", "siem.list_detections", {}),
    (r"list of buckets", "cloud.list_buckets", {}),
    (r"lists? its tickets", "cases.list_tickets", {}),
)


def look_around(desk: Desk, goal: str) -> None:
    """Read what a goal names: things, groups, lists, notes, quoted words, and last how tools describe themselves."""
    for case in re.findall(r"[Rr]ecall [^.;]*? case ([\w-]+)", goal):
        desk.read("memory.recall", case=case)
    for kind, name in named_in(goal):
        look_at(desk, kind, name)
    for group in re.findall(r"members of the group (\S+?)[,;.\s]", goal):
        for member in desk.rows("identity.list_group_members", "members", group=group):
            desk.read("identity.get_account", user=member["user"])
    for words, tool, arguments in _LISTS:
        if re.search(words, goal):
            desk.read(tool, **arguments)
    for principal in re.findall(r"keys of (?:the account )?([\w.-]*\w)", goal):
        desk.read("cloud.list_keys", principal=principal)
    for phrase in re.findall(r'(?:events for|[Ll]ook up) "([^"]+)"', goal):
        desk.read("siem.search", query=f'"{phrase}"')
    for resource in re.findall(r"tags of ([\w-]+)", goal):
        desk.read("cloud.get_tags", resource=resource)
    for tool in re.findall(r"how (\w+\.\w+) describes itself", goal):
        desk.read("catalog.describe", tool=tool)


def look_at(desk: Desk, kind: str, name: str) -> None:
    """Read what the SOC knows of a thing."""
    match kind:
        case "ticket":
            desk.read("cases.get_ticket", ticket=name)
        case "message":
            desk.read("mail.get_message", message=name)
            desk.read("siem.search", query=name)
        case "account":
            desk.read("siem.search", query=f"user:{name}", limit=50)
            desk.read("identity.get_account", user=name)
            desk.read("identity.list_sessions", user=name)
        case "mailbox":
            desk.read("mail.list_rules", mailbox=name)
        case "host":
            desk.read("siem.search", query=f"host:{name}", limit=50)
            desk.read("endpoint.get_host", host=name)
            desk.read("endpoint.list_processes", host=name)
            desk.read("endpoint.list_files", host=name)
            desk.read("network.list_connections", host=name)
        case "address":
            desk.read("siem.search", query=f"ip:{name}", limit=50)
            desk.read("network.list_connections", remote=name)
        case "domain":
            desk.read("siem.search", query=name, limit=50)
            desk.read("network.dns_history", name=name)
        case "key":
            desk.read("cloud.get_key_activity", key=name)
            desk.read("siem.search", query=f"key:{name}", limit=50)
        case "instance":
            desk.read("cloud.describe_instance", instance=name)
            desk.read("siem.search", query=name)
        case "report":
            desk.read("intel.get_report", report=name)
        case "hash":
            desk.read("malware.static_facts", sample=name)
            desk.read("malware.strings", sample=name)
            desk.read("intel.lookup_file", sha256=name)
        case "bucket":
            desk.read("cloud.list_buckets")
