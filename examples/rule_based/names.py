"""Recognises the names of things in a text: what a SOC's agent is told about its own site."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network

OWN_NETWORK = ip_network("192.0.2.0/24")
OWN_DOMAIN = "corp.example"

_KINDS: tuple[tuple[str, str], ...] = (
    ("mailbox", r"[\w.+-]+@[\w.-]+\.\w+"),
    ("hash", r"\b[0-9a-f]{64}\b"),
    ("network", r"\b\d{1,3}(?:\.\d{1,3}){3}/\d{1,2}\b"),
    ("address", r"\b\d{1,3}(?:\.\d{1,3}){3}\b"),
    ("ticket", r"\bT-\d+\b"),
    ("message", r"\bmsg-\d+\b"),
    ("session", r"\bses-\d+\b"),
    ("report", r"\brep-\d+\b"),
    ("rule", r"\brule-[a-z]+-\d+\b"),
    ("detection", r"\bdet-[a-z-]+\b"),
    ("key", r"\b(?:AKEXAMPLE\d{4}|tok-[a-z]+-\d+)\b"),
    ("instance", r"\bi-[0-9a-f]{4}\b"),
    ("process", r"\b[a-zü]+(?:-[a-z0-9]+)+:\d+\b"),
    ("file", r"\b[a-zü]+(?:-[a-z0-9]+)+:f\d+\b"),
    ("host", r"\b(?:wks|lap|srv|sensor|eng-ws|gw|jump|hmi|hist|files|büro)-[a-z0-9-]*\d+\b"),
    ("bucket", r"\bcorp-[a-z-]+\b(?!\.\w)"),
    ("account", r"\b(?:svc|adm|ext|app|ci)-[a-z0-9-]+\b(?!\.\w)"),
    ("domain", r"\b[a-z0-9@-]+(?:\.[a-z0-9-]+)*\.(?:example|net|org|com)\b"),
    ("account", r"\b[^\W\d_]+\.[^\W\d_]+\b(?!\.\w|\()"),
)
_PATTERN = re.compile("|".join(f"(?P<k{i}>{pattern})" for i, (_, pattern) in enumerate(_KINDS)))
_FILE_ENDS = ("exe", "dll", "js", "ps", "txt", "png", "xlsx", "zip", "json", "cmd", "jsp", "dat", "py", "pdf")


def named_in(text: str) -> list[tuple[str, str]]:
    """Return what a text names, as (kind, name), in order and each once."""
    found = [(_KINDS[int(m.lastgroup[1:])][0], m.group()) for m in _PATTERN.finditer(text) if m.lastgroup]
    kept = [(kind, name) for kind, name in found if kind != "account" or name.rpartition(".")[2] not in _FILE_ENDS]
    return list(dict.fromkeys(kept))


def of_kind(text: str, *kinds: str) -> list[str]:
    """Return the names of some kinds that a text holds."""
    return [name for kind, name in named_in(text) if kind in kinds]


def outside(name: str) -> bool:
    """Tell whether an address or a domain is not the organisation's own."""
    try:
        return ip_address(name) not in OWN_NETWORK
    except ValueError:
        return not (name == OWN_DOMAIN or name.endswith(f".{OWN_DOMAIN}"))
