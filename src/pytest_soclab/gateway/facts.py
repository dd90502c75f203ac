"""Builds the policy's input: what the session, the incident and the transcript say, never the agent."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from pytest_soclab.gateway.normal import schema_faults, shape_faults
from pytest_soclab.gateway.state import Proposal, TrialState
from pytest_soclab.leaks import egress
from pytest_soclab.soc.registry import Aim, Authority, Effect, Tool
from pytest_soclab.soc.world import Asset, Charter, World


def decision_input(state: TrialState, proposal: Proposal, tool: Tool | None) -> dict[str, Any]:
    """Return a `DecisionInput` as plain JSON for a proposal; `tool` is None where no such tool exists."""
    charter = state.world.charter
    cited = [state.evidence[c] for c in proposal.cites if c in state.evidence]
    aims = tool.aims(proposal.arguments) if tool else []
    return {
        "format": "soclab-decision/1",
        "level": state.level,
        "now": state.clock.now,
        "agent": {
            "name": state.identity.name,
            "model": state.identity.model,
            "scripted": state.identity.kind == "scripted",
        },
        "incident": {
            "id": charter.incident,
            "assets_declared": charter.assets is not None,
            "degraded": charter.degraded,
            "approved_models": list(charter.approved_models),
        },
        "tool": _tool_in(proposal.tool, tool),
        "arguments": proposal.arguments,
        "schema_faults": schema_faults(tool, proposal.arguments) if tool else [],
        "shape_faults": [*proposal.faults, *shape_faults(tool, proposal.arguments)],
        "targets": [_target_in(aim, state.world) for aim in aims],
        "evidence": [{"id": e.id, "tool": e.tool, "kind": e.kind, "incident": e.incident} for e in cited],
        "unknown_evidence": [c for c in proposal.cites if c not in state.evidence],
        "budgets": _budgets(state, tool),
        "leaving": _leaving_in(proposal, tool, aims, charter),
    }


def _tool_in(name: str, tool: Tool | None) -> dict[str, Any]:
    if tool is None:
        known = {"known": False, "server": "", "effect": "", "kind": "", "authority": "", "change": ""}
        return {"name": name, **known}
    return {
        "name": tool.name,
        "known": True,
        "server": tool.server,
        "effect": tool.effect.value,
        "kind": tool.kind or "",
        "authority": tool.authority.value,
        "change": tool.change or "",
    }


def _target_in(aim: Aim, world: World) -> dict[str, Any]:
    charter = world.charter
    asset = (charter.assets or {}).get(aim.value, Asset())
    return {
        "argument": aim.argument,
        "type": aim.type,
        "value": aim.value,
        "scoped": aim.scoped,
        "declared": aim.value in (charter.assets or {}),
        "protected": asset.protected or _touches_protected(aim, charter),
        "roles": list(asset.roles),
        "last_of": [role for role in asset.roles if _last(role, aim.value, world)],
        "in_scope": in_scope(aim, charter),
        "size": _size(aim.value) if aim.type == "address" else 1,
        "ascii": aim.value.isascii(),
        "maintenance": [{"start": w.start, "end": w.end} for w in charter.maintenance if w.entity == aim.value],
    }


def in_scope(aim: Aim, charter: Charter) -> bool:
    """Tell whether a target is of the case's scope: named there, or an address inside a network named there."""
    allowed = charter.scope.get(aim.type, frozenset())
    if aim.value in allowed:
        return True
    network = _network(aim.value) if aim.type == "address" else None
    return network is not None and any(_inside(network, _network(entry)) for entry in allowed)


def _touches_protected(aim: Aim, charter: Charter) -> bool:
    """Tell whether a network covers a protected address."""
    network = _network(aim.value) if aim.type == "address" else None
    if network is None:
        return False
    return any(asset.protected and _inside(_network(name), network) for name, asset in (charter.assets or {}).items())


Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@lru_cache(maxsize=4096)
def _network(text: str) -> Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def _inside(inner: Network | None, outer: Network | None) -> bool:
    if isinstance(inner, ipaddress.IPv4Network) and isinstance(outer, ipaddress.IPv4Network):
        return inner.subnet_of(outer)
    if isinstance(inner, ipaddress.IPv6Network) and isinstance(outer, ipaddress.IPv6Network):
        return inner.subnet_of(outer)
    return False


def _size(text: str) -> int:
    """Return how many addresses a network covers, at most 2^53 - 1 (the largest number that is exact in JSON)."""
    network = _network(text)
    return 1 if network is None else min(network.num_addresses, 2**53 - 1)


def _last(role: str, name: str, world: World) -> bool:
    holders = [holder for holder, asset in (world.charter.assets or {}).items() if role in asset.roles]
    return not any(_enabled(world, holder) for holder in holders if holder != name)


def _enabled(world: World, account: str) -> bool:
    row = world.row("identity.accounts", account)
    return bool(row and row.get("enabled", True))


def _budgets(state: TrialState, tool: Tool | None) -> dict[str, Any]:
    limits: Mapping[str, int] = state.world.charter.budgets
    changes = bool(tool and tool.effect is not Effect.READ and tool.authority is Authority.ACT)
    used = {
        "calls": state.calls,
        "cost": state.cost + (tool.cost if tool else 0),
        "seconds": state.clock.now - state.started,
        "changes": state.changes + changes,
    }
    return {name: {"used": value, "limit": limits.get(name, 0)} for name, value in used.items()}


def _leaving_in(proposal: Proposal, tool: Tool | None, aims: Iterable[Aim], charter: Charter) -> dict[str, Any]:
    leaves = set(tool.leaves) if tool else set()
    kept = {name: value for name, value in proposal.arguments.items() if name in leaves}
    addressed = {aim.argument for aim in aims if aim.type == "recipient"}
    recipients = sorted({aim.value for aim in aims if aim.type == "recipient"})
    text = {name: value for name, value in kept.items() if name not in addressed}
    inside = bool(recipients) and all(_internal(recipient, charter) for recipient in recipients)
    return {
        "outside": bool(tool and tool.outside) and not inside,
        "secrets": egress.secret_labels(kept, charter.secrets) if kept else [],
        "internal_names": egress.names_in(text, charter.internal_names) if text else [],
        "recipients": recipients,
        "allowed_recipients": list(charter.allowed_recipients),
    }


def _internal(recipient: str, charter: Charter) -> bool:
    """Tell whether a mail address is of the organisation's own domain."""
    name, at, domain = recipient.rpartition("@")
    return bool(name and at) and "@" not in name and domain in charter.internal_names
