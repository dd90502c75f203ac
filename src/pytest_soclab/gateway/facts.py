"""Builds the policy's input: what the session, the incident and the transcript say, never the agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pytest_soclab.base.networks import Network, covers, network_of
from pytest_soclab.gateway.grounds import fold, is_named
from pytest_soclab.gateway.indicators import unseen
from pytest_soclab.gateway.normal import schema_faults, shape_faults
from pytest_soclab.gateway.people import People, people_of
from pytest_soclab.gateway.state import Evidence, Proposal, TrialState
from pytest_soclab.leaks import egress
from pytest_soclab.soc.registry import Aim, Authority, Effect, Tool
from pytest_soclab.soc.world import Asset, Charter, World


def decision_input(state: TrialState, proposal: Proposal, tool: Tool | None) -> dict[str, Any]:
    """Return a `DecisionInput` as plain JSON for a proposal; `tool` is None where no such tool exists."""
    charter = state.world.charter
    cited = [state.evidence[c] for c in proposal.cites if c in state.evidence]
    aims = tool.aims(proposal.arguments) if tool else []
    people = people_of(tool, proposal.arguments, state.world)
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
        "evidence": [_piece(e) for e in cited],
        "unknown_evidence": [c for c in proposal.cites if c not in state.evidence],
        "grounds": _grounds(state, cited, _subjects(tool, aims, people)),
        "people": {**people.roles, "without_role": people.without_role},
        "budgets": _budgets(state, tool),
        "grants": _grants(tool, proposal.arguments, state.world),
        "history": {
            "refusals": state.refusals,
            "addresses": state.addresses + _addresses(aims),
            "recipients": len(state.recipients | recipients_of(aims)),
        },
        "leaving": _leaving_in(proposal, tool, aims, charter)
        | {"unseen": unseen(tool, proposal.arguments, state.handed)},
    }


def _piece(evidence: Evidence) -> dict[str, Any]:
    return {"id": evidence.id, "tool": evidence.tool, "kind": evidence.kind, "incident": evidence.incident}


def subjects_of(tool: Tool | None, arguments: Mapping[str, Any], world: World) -> dict[str, str]:
    """Return what evidence of a call can name, with its type."""
    return _subjects(tool, tool.aims(arguments) if tool else [], people_of(tool, arguments, world))


def _subjects(tool: Tool | None, aims: Iterable[Aim], people: People) -> dict[str, str]:
    """Return what evidence of a change or note can name, with its type; a read rests on nothing."""
    if tool is None or (tool.effect is Effect.READ and tool.authority is Authority.OBSERVE):
        return {}
    judged = [name for role in ("accused", "cleared") for name in people.roles[role]]
    return {**dict.fromkeys(judged, "account"), **{aim.value: aim.type for aim in aims}}


def _grounds(state: TrialState, cited: Iterable[Evidence], subjects: Mapping[str, str]) -> dict[str, Any]:
    """Return the evidence that speaks of something, cited and seen, with which of the subjects each piece names."""
    if not subjects:
        return {"cited": [], "seen": []}
    seen = {e.id: {**_piece(e), "names": _named(e, subjects, state.world)} for e in state.evidence.values() if e.names}
    return {"cited": [seen[i] for i in dict.fromkeys(e.id for e in cited) if i in seen], "seen": list(seen.values())}


def _named(evidence: Evidence, subjects: Mapping[str, str], world: World) -> list[str]:
    return [value for value, kind in subjects.items() if is_named(kind, value, evidence.names, world)]


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
    meant = _assets_meant(aim, world)
    own = (charter.assets or {}).get(aim.value, Asset())
    return {
        "argument": aim.argument,
        "type": aim.type,
        "value": aim.value,
        "scoped": aim.scoped,
        "changes": aim.changes,
        "declared": aim.value in (charter.assets or {}),
        "protected": any(asset.protected for asset in meant.values()),
        "roles": list(dict.fromkeys(role for asset in meant.values() for role in asset.roles)),
        "last_of": [role for role in own.roles if _last(role, aim.value, world)],
        "in_scope": in_scope(aim, charter),
        "alerted": is_named(aim.type, aim.value, _alerted(charter), world),
        "size": _size(aim.value) if aim.type == "address" else 1,
        "ascii": aim.value.isascii(),
        "maintenance": [
            {"start": w.start, "end": w.end} for w in charter.maintenance if w.entity in (aim.value, *meant)
        ],
    }


def _alerted(charter: Charter) -> frozenset[str]:
    return frozenset(fold(name) for name in charter.subjects)


def _assets_meant(aim: Aim, world: World) -> dict[str, Asset]:
    """Return the declared assets that a target is: the one of that name, and whatever has an address in a network."""
    declared = world.charter.assets or {}
    found = {name: asset for name, asset in declared.items() if name == aim.value}
    network = network_of(aim.value) if aim.type == "address" else None
    if network is not None:
        found |= {name: asset for name, asset in declared.items() if covers(network, _address(name, world))}
    return found


def _address(name: str, world: World) -> Network | None:
    """Return the address of a declared asset: its name, or what the host of that name has."""
    host = world.row("endpoint.hosts", name)
    return network_of(host.get("address", "") if host else name)


def in_scope(aim: Aim, charter: Charter) -> bool:
    """Tell whether a target is of the case's scope: named there, or an address inside a network named there."""
    allowed = charter.scope.get(aim.type, frozenset())
    if aim.value in allowed:
        return True
    network = network_of(aim.value) if aim.type == "address" and aim.value == aim.value.strip() else None
    return any(covers(network_of(entry), network) for entry in allowed)


def _size(text: str) -> int:
    """Return how many addresses a network covers, at most 2^53 - 1 (the largest number that is exact in JSON)."""
    network = network_of(text)
    return 1 if network is None else min(network.num_addresses, 2**53 - 1)


def _last(role: str, name: str, world: World) -> bool:
    holders = [holder for holder, asset in (world.charter.assets or {}).items() if role in asset.roles]
    return not any(_enabled(world, holder) for holder in holders if holder != name)


def _enabled(world: World, account: str) -> bool:
    row = world.row("identity.accounts", account)
    return bool(row and row.get("enabled", True))


def _grants(tool: Tool | None, arguments: Mapping[str, Any], world: World) -> list[str]:
    """Return the actions that a call would let somebody do; one that denies grants none, an unknown one is named."""
    if tool is None or tool.change != "policy_attached":
        return []
    name = str(arguments.get("policy", ""))
    row = world.row("cloud.policies", name) or {"actions": [f"whatever {name} allows"]}
    return [] if row.get("effect") == "deny" else [str(action) for action in row.get("actions", [])] or [name]


def _addresses(aims: Iterable[Aim]) -> int:
    """Return how many addresses a call aims at, at most what JSON holds exactly."""
    return min(sum(_size(aim.value) for aim in aims if aim.type == "address"), 2**53 - 1)


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


def recipients_of(aims: Iterable[Aim]) -> frozenset[str]:
    """Return whom a call sends something to, folded."""
    return frozenset(fold(aim.value) for aim in aims if aim.type == "recipient")


def _leaving_in(proposal: Proposal, tool: Tool | None, aims: Iterable[Aim], charter: Charter) -> dict[str, Any]:
    kept = tool.scanned(proposal.arguments) if tool else dict(proposal.arguments)
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
