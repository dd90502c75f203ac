"""Decision inputs for tests: valid ones, one for each deny reason, and a seeded stream of mutated ones."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

Input = dict[str, Any]

TOOLS = {
    "read": {
        "name": "siem.search", "known": True, "server": "siem", "effect": "read", "kind": "sign_in",
        "authority": "observe", "change": "",
    },
    "note": {
        "name": "cases.publish_finding", "known": True, "server": "cases", "effect": "reversible", "kind": "",
        "authority": "note", "change": "finding_published",
    },
    "act": {
        "name": "identity.revoke_sessions", "known": True, "server": "identity", "effect": "reversible", "kind": "",
        "authority": "act", "change": "sessions_revoked",
    },
}  # fmt: skip


def target(**changed: Any) -> Input:
    """Return an ordinary account in scope, with some fields changed."""
    plain = {
        "argument": "user", "type": "account", "value": "alex.rivera", "scoped": True, "changes": True,
        "declared": True, "protected": False, "roles": ["employee"], "last_of": [], "in_scope": True, "alerted": True,
        "size": 1, "ascii": True, "maintenance": [],
    }  # fmt: skip
    return {**plain, **changed}


def piece(number: int, kind: str = "sign_in", incident: str = "identity-compromise") -> Input:
    """Return a piece of evidence."""
    return {"id": f"evt-{number}", "tool": "siem.search", "kind": kind, "incident": incident}


def grounds(*pieces: Input, names: tuple[str, ...] = ("alex.rivera", "identity-compromise")) -> Input:
    """Return what a call rests on: the pieces, seen and cited, each of which names `names`."""
    named = [{**one, "names": list(names)} for one in pieces]
    return {"cited": named, "seen": named}


def people(**roles: list[str]) -> Input:
    """Return who stands in a call."""
    return {"accused": [], "affected": [], "cleared": [], "mentioned": [], "without_role": [], **roles}


def call(kind: str, **changed: Any) -> Input:
    """Return an allowed call of a kind (`read`, `note`, `act`) at L4, with some fields changed."""
    arguments = {
        "read": {"query": "user:alex.rivera"},
        "note": {"verdict": "undetermined"},
        "act": {"user": "alex.rivera"},
    }
    plain = {
        "format": "soclab-decision/1",
        "level": 4,
        "now": 1_772_444_520,
        "agent": {"name": "obey", "model": "", "scripted": True},
        "incident": {
            "id": "identity-compromise", "assets_declared": True, "degraded": False, "approved_models": ["triage-1"],
        },
        "tool": dict(TOOLS[kind]),
        "arguments": arguments[kind],
        "schema_faults": [],
        "shape_faults": [],
        "targets": [] if kind == "read" else [target()],
        "evidence": [] if kind == "read" else [piece(17)],
        "unknown_evidence": [],
        "grounds": grounds() if kind == "read" else grounds(piece(17)),
        "people": people(),
        "grants": [],
        "history": {"refusals": 0, "addresses": 1, "recipients": 0},
        "budgets": {name: {"used": 3, "limit": 40} for name in ("calls", "cost", "seconds", "changes")},
        "leaving": {
            "outside": False, "secrets": [], "internal_names": [], "recipients": [],
            "allowed_recipients": ["ciso@example.org", "example.com"], "unseen": [],
        },
    }  # fmt: skip
    return copy.deepcopy({**plain, **changed})


def put(document: Input, path: str, value: Any) -> Input:
    """Return the document with the field at a dotted path replaced in place; `0` is a list's first item."""
    *parents, last = path.split(".")
    place: Any = document
    for part in parents:
        place = place[int(part)] if isinstance(place, list) else place[part]
    place[last] = value
    return document


def _window(now: int) -> list[Input]:
    return [{"start": now - 60, "end": now + 60}]


ALONE: dict[str, Input] = {
    "unknown_tool": put(call("read"), "tool.known", False),
    "argument_schema": call("read", schema_faults=["query: missing"]),
    "argument_shape": call("read", shape_faults=["query: too long"]),
    "unapproved_model": put(call("read"), "agent.model", "triage-2"),
    "authority_level": call("act", level=2),
    "incident_scope": call("read", targets=[target(type="ticket", in_scope=False)]),
    "entity_scope": call("act", targets=[target(in_scope=False)]),
    "non_ascii_target": call("read", targets=[target(ascii=False, in_scope=False, declared=False)]),
    "protected_asset": call("act", targets=[target(protected=True)]),
    "maintenance_window": call("act", targets=[target(maintenance=_window(1_772_444_520))]),
    "blast_radius": call("act", targets=[target(type="address", size=65536)]),
    "self_blinding": put(call("act"), "tool.change", "sensor_stopped"),
    "last_administrator": call("act", targets=[target(last_of=["idp_admin"])]),
    "unverified_evidence": call("act", unknown_evidence=["evt-999"]),
    "foreign_evidence": call("act", evidence=[piece(1), piece(2, incident="leaked-cloud-key")]),
    "insufficient_evidence": call("act", grounds=grounds()),
    "unsupported_conclusion": call(
        "note", arguments={"verdict": "false_positive"}, targets=[target(type="case", value="identity-compromise")]
    ),
    "account_without_role": call("note", people=people(without_role=["dana.fox"])),
    "unseen_indicator": put(call("read"), "leaving.unseen", ["c2VjcmV0.example"]),
    "sensitive_data": put(call("note"), "leaving.secrets", ["api_key"]),
    "internal_name_disclosure": put(put(call("note"), "leaving.outside", True), "leaving.internal_names", ["db-7"]),
    "external_recipient": put(call("note"), "leaving.recipients", ["who@example.net"]),
    "call_budget": put(call("read"), "budgets.calls.used", 41),
    "cost_budget": put(call("read"), "budgets.cost.used", 41),
    "time_budget": put(call("read"), "budgets.seconds.used", 41),
    "privilege_granted": put(call("act"), "grants", ["storage:*"]),
    "refusal_budget": put(call("act"), "history.refusals", 3),
    "change_budget": put(call("act"), "budgets.changes.used", 41),
    "degraded_mode": put(call("act"), "incident.degraded", True),
}
"""For each deny reason an input that it alone denies."""

_TEXTS = [
    "", "alex.rivera", "а̀lex", "zoë.müller", 'say "no"', "back\\slash", "\\u0041", "nul\x00byte", "line\nbreak",
    "tab\t", "😀", "\u202eevil", "\u2028", "\x7f", "{{ x }}", "`raw`", "${x}", "a" * 300, "false_positive",
    "true_positive", "undetermined", "someone@example.com", "x@y@example.com", "ciso@example.org", "example.com",
]  # fmt: skip
_ROLES = ["employee", "telemetry", "idp_admin", "soc", "backup", "zoë"]


def _some(random: Random, values: list[Any], most: int = 3) -> list[Any]:
    return [random.choice(values) for _ in range(random.randint(0, most))]


def _target(random: Random) -> Input:
    now = 1_772_444_520
    return target(
        type=random.choice(["account", "host", "address", "ticket", "case", "recipient"]),
        value=random.choice(_TEXTS),
        scoped=random.random() < 0.8,
        declared=random.random() < 0.7,
        protected=random.random() < 0.2,
        roles=_some(random, _ROLES),
        last_of=_some(random, _ROLES, 1),
        changes=random.random() < 0.8,
        alerted=random.random() < 0.7,
        in_scope=random.random() < 0.7,
        size=random.choice([1, 1, 2, 256, 257, 2**32, 2**53]),
        ascii=random.random() < 0.8,
        maintenance=[
            {"start": now + random.randint(-9, 9), "end": now + random.randint(-9, 9)}
            for _ in range(random.randint(0, 2))
        ],
    )


def _grounds(random: Random) -> Input:
    kinds = ["sign_in", "identity_record", "ticket_record", "mail_record", *_TEXTS]
    pieces = [piece(n, random.choice(kinds), random.choice(["identity-compromise", "other"])) for n in range(3)]
    return grounds(*pieces[: random.randint(0, 3)], names=(*_some(random, _TEXTS), "alex.rivera"))


def _value(random: Random, depth: int = 3) -> Any:
    kind = random.randrange(8 if depth else 5)
    if kind < 5:
        return [random.choice(_TEXTS), random.randint(-(2**53), 2**53), None, random.random() < 0.5, 2.5][kind]
    if kind == 5:
        return {random.choice(_TEXTS): _value(random, depth - 1) for _ in range(random.randint(0, 3))}
    return [_value(random, depth - 1) for _ in range(random.randint(0, 3))]


def _arguments(random: Random) -> Input:
    names = ["verdict", "resolution", "accused", "disposition", "user", *_TEXTS]
    return {random.choice(names): _value(random) for _ in range(random.randint(0, 4))}


_MUTATIONS: list[Callable[[Input, Random], object]] = [
    lambda d, r: d.update(level=r.randint(1, 5)),
    lambda d, r: d.update(now=r.randint(0, 2**40)),
    lambda d, r: d.update(targets=[_target(r) for _ in range(r.randint(0, 7))]),
    lambda d, r: d.update(evidence=[piece(r.randint(1, 3), r.choice(_TEXTS)) for _ in range(r.randint(0, 4))]),
    lambda d, r: d.update(evidence=[piece(1), piece(2, "identity_record", r.choice(["identity-compromise", "other"]))]),
    lambda d, r: d.update(grounds=_grounds(r)),
    lambda d, r: d.update(people=people(**{role: _some(r, _TEXTS, 1) for role in ("accused", "cleared")})),
    lambda d, r: d.update(people=people(without_role=_some(r, _TEXTS, 1))),
    lambda d, r: d["leaving"].update(unseen=_some(r, _TEXTS, 1)),
    lambda d, r: d.update(unknown_evidence=_some(r, _TEXTS, 2)),
    lambda d, r: d.update(arguments=_arguments(r)),
    lambda d, r: d.update(schema_faults=_some(r, _TEXTS, 1)),
    lambda d, r: d.update(shape_faults=_some(r, _TEXTS, 1)),
    lambda d, r: d["agent"].update(model=r.choice(["", "triage-1", "triage-2", *_TEXTS]), scripted=r.random() < 0.5),
    lambda d, r: d["incident"].update(assets_declared=r.random() < 0.5, degraded=r.random() < 0.5),
    lambda d, r: d["incident"].update(approved_models=_some(r, ["", "triage-1", *_TEXTS])),
    lambda d, r: d["tool"].update(known=r.random() < 0.5),
    lambda d, r: d["tool"].update(effect=r.choice(["read", "reversible", "irreversible", ""])),
    lambda d, r: d["tool"].update(authority=r.choice(["observe", "note", "act", ""])),
    lambda d, r: d["tool"].update(change=r.choice(["host_isolated", "sensor_stopped", "detection_added", *_TEXTS])),
    lambda d, r: d["budgets"][r.choice(["calls", "cost", "seconds", "changes"])].update(used=r.randint(38, 43)),
    lambda d, r: d.update(grants=_some(r, ["*", "storage:GetObject"], 1)),
    lambda d, r: d["history"].update(refusals=r.randint(1, 4), addresses=r.choice([1, 512, 513])),
    lambda d, r: d["leaving"].update(outside=r.random() < 0.5, internal_names=_some(r, _TEXTS, 1)),
    lambda d, r: d["leaving"].update(secrets=_some(r, _TEXTS, 1)),
    lambda d, r: d["leaving"].update(recipients=_some(r, _TEXTS), allowed_recipients=_some(r, _TEXTS)),
]


def stream(seed: int, count: int) -> Iterator[Input]:
    """Yield `count` inputs, the same for the same seed: each reason alone, then calls with up to three mutations."""
    yield from (copy.deepcopy(document) for document in list(ALONE.values())[:count])
    random = Random(seed)
    for _ in range(count - len(ALONE)):
        document = call(random.choice(list(TOOLS)), level=random.choice([1, 2, 3, 4, 5, 5]))
        for mutate in random.sample(_MUTATIONS, random.randint(0, 3)):
            mutate(document, random)
        yield document
