"""Finds the accounts that an agent's texts name, so that each can be asked for its role in the case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pytest_soclab.leaks.egress import readable, texts
from pytest_soclab.soc.registry import Authority, Tool
from pytest_soclab.soc.world import World

ROLES = ("accused", "affected", "cleared", "mentioned")
"""The arguments in which a note says what an account that its text names is to the case."""


@dataclass(frozen=True, slots=True)
class People:
    """The accounts that a call gives a role, and those that its texts name and that have none, or two of a kind."""

    roles: Mapping[str, list[str]]
    without_role: list[str]


def people_of(tool: Tool | None, arguments: Mapping[str, Any], world: World) -> People:
    """Return who stands in a call, by role."""
    roles = {role: _names(arguments.get(role)) for role in ROLES}
    if tool is None or not _takes_roles(tool):
        return People(roles, [])
    written = {name: value for name, value in tool.scanned(arguments).items() if name not in ROLES}
    given = {readable(name).rpartition("@")[0] or readable(name) for names in roles.values() for name in names}
    without = {user for user in accounts_named(texts(written), world) if readable(user) not in given}
    return People(roles, sorted(without | set(_torn(roles))))


def _takes_roles(tool: Tool) -> bool:
    """Tell whether what a call writes is read by others as the SOC's word: a note, or a tool that asks for roles."""
    return tool.authority is Authority.NOTE or bool(set(ROLES) & set(tool.arguments.model_fields))


def _names(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [name for name in values if isinstance(name, str)]


def _torn(roles: Mapping[str, list[str]]) -> list[str]:
    """Return who is both accused and cleared."""
    return [name for name in roles["accused"] if readable(name) in {readable(other) for other in roles["cleared"]}]


def accounts_named(written: Iterable[str], world: World) -> list[str]:
    """Return the accounts that texts name: by account, by mail address or by full name, in any case and spacing."""
    text = readable("\n".join(written))
    return [user for user, pattern in _patterns(_known(world)) if pattern.search(text)]


def _known(world: World) -> tuple[tuple[str, str], ...]:
    rows = world.rows("identity.accounts")
    known = {row["user"]: row.get("name", "") if row.get("type") == "person" else "" for row in rows}
    extra = [*(row["name"] for row in world.rows("cloud.principals")), *world.charter.scope.get("account", ())]
    return tuple({**dict.fromkeys(extra, ""), **known}.items())


@lru_cache(maxsize=64)
def _patterns(known: tuple[tuple[str, str], ...]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((user, _pattern(user, name)) for user, name in known)


def _pattern(user: str, name: str) -> re.Pattern[str]:
    forms = [user, name] if " " in name.strip() else [user]
    return re.compile("|".join(rf"(?<!\w){_spaced(form)}(?!\w)" for form in forms))


def _spaced(form: str) -> str:
    words = [re.escape(word) for word in re.split(r"[\s._-]+", readable(form)) if word]
    return r"[\s._-]{0,3}".join(words)
