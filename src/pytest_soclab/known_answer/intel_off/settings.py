"""The stored settings that the gate reads: profiles, tool servers and their tools, provider blocks.

Only those are checked; every other key, here and inside them, is kept as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pytest_soclab.base.errors import Fault, KnownAnswerError, quote
from pytest_soclab.known_answer.basis.files import read_json, refuse, shown
from pytest_soclab.known_answer.provenance.kinds import declared, default_settings, is_lookup
from pytest_soclab.known_answer.provenance.tags import Declared, builtin_kind

_EXPORT_PREFIX = "core."
_BRANCHES = ("agents.active_profile", "agents.profiles", "mcp.servers", "providers")


class _Kept(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class Tool(_Kept):
    """A tool and the evidence kind that it declares, if any."""

    kind: str | None = None

    @property
    def is_lookup(self) -> bool:
        """Whether the tool asks a service outside the deployment what it knows."""
        return is_lookup(self.kind)


class Server(_Kept):
    """A tool server; one that names no tools at all declares what the built-in server of its name does."""

    enabled: bool = True
    tools: dict[str, Tool] = Field(default_factory=dict)


class Provider(_Kept):
    """A model or service provider with tools of its own, which no profile can withhold."""

    tools: dict[str, Tool] = Field(default_factory=dict)


class Stage(_Kept):
    """One stage of a profile and the agents that work in it."""

    key: str
    agents: list[str] = Field(default_factory=list)


class Profile(_Kept):
    """A team of agents and the servers that it does without."""

    label: str = ""
    stages: list[Stage] = Field(default_factory=list)
    exclude_servers: list[str] = Field(default_factory=list)


class Agents(_Kept):
    """The profiles and the one that is active."""

    active_profile: str | None = None
    profiles: dict[str, Profile] = Field(default_factory=dict)


class Servers(_Kept):
    """The tool servers by name."""

    servers: dict[str, Server] = Field(default_factory=dict)


class Settings(_Kept):
    """The settings as far as they are read."""

    agents: Agents
    mcp: Servers
    providers: dict[str, Provider] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _active_profile_exists(self) -> Settings:
        active = self.agents.active_profile
        if active is not None and active not in self.agents.profiles:
            raise ValueError(f"the active profile {active!r} is not among agents.profiles")
        return self


def read_settings(path: str | None) -> dict[str, Any]:
    """Return the settings at `path` as one tree; what they leave out has its default. Raises KnownAnswerError."""
    tree = default_settings()
    if path is None:
        return tree
    stored = dict(_stored(path))
    for name, value in stored.items():
        _put(tree, name, value, path)
    if "agents.profiles" in stored and "agents.active_profile" not in stored:
        _forget_default(tree["agents"])
    servers = tree["mcp"]["servers"]
    for name, server in servers.items() if isinstance(servers, dict) else ():
        if isinstance(server, dict) and "tools" not in server:
            server["tools"] = declared(name)
    return tree


def _forget_default(agents: dict[str, Any]) -> None:
    """Drop the default active profile where the stored profiles do not have it."""
    if isinstance(agents["profiles"], dict) and agents["active_profile"] not in agents["profiles"]:
        del agents["active_profile"]


def _stored(path: str) -> Iterator[tuple[str, Any]]:
    """Yield dotted name and value of each stored setting that is read, the widest names first."""
    data = read_json(path)
    if isinstance(data, dict) and isinstance(data.get("values"), dict):
        data = data["values"]
    if not isinstance(data, dict):
        refuse(shown(data), path, expected='settings by dotted key, such as {"agents.profiles": {…}}')
    found: dict[str, Any] = {}
    for key, value in data.items():
        name = key.removeprefix(_EXPORT_PREFIX)
        if name in found:
            refuse(f"the setting {quote(name)} twice", path, expected="every setting once")
        found[name] = value
    yield from sorted(_flat(found, path), key=lambda pair: pair[0].count("."))


def _flat(found: dict[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    """Yield the settings with `agents` and `mcp` objects opened to the names that are read."""
    for name, value in found.items():
        if name in {"agents", "mcp"}:
            if not isinstance(value, dict):
                refuse(shown(value), path, field=name, expected="an object")
            yield from ((f"{name}.{inner}", setting) for inner, setting in value.items())
        else:
            yield name, value


def _put(tree: dict[str, Any], name: str, value: Any, path: str) -> None:
    """Put one setting into the tree: a whole branch, or (`mcp.servers.NAME`) one entry of it."""
    for branch in _BRANCHES:
        if name == branch:
            _branch(tree, branch.split("."), deepcopy(value))
        elif name.startswith(f"{branch}.") and branch != "agents.active_profile":
            entry, _, inner = name.removeprefix(f"{branch}.").partition(".")
            steps = [*branch.split("."), entry, *inner.split(".")] if inner else [*branch.split("."), entry]
            if not _branch(tree, steps, deepcopy(value)):
                refuse(f"the setting {quote(name)} below a value that is no object", path, expected="an object")


def _branch(tree: dict[str, Any], steps: list[str], value: Any) -> bool:
    for step in steps[:-1]:
        tree = tree.setdefault(step, {})
        if not isinstance(tree, dict):
            return False
    tree[steps[-1]] = value
    return True


def build(tree: dict[str, Any], path: str | None) -> Settings:
    """Return the settings that a tree describes. Raises KnownAnswerError with one fault a field that does not fit."""
    try:
        return Settings.model_validate(tree)
    except ValidationError as error:
        place = path or "built-in settings"
        raise KnownAnswerError(
            *(
                Fault(
                    f"settings that do not build: {detail['msg']}",
                    place,
                    field=".".join(str(step) for step in detail["loc"]),
                    remedy="correct the settings",
                )
                for detail in error.errors(include_url=False)
            )
        ) from None


def declared_kind(tree: dict[str, Any], path: str) -> Declared:
    """Return what tools declare: the settings' servers and providers first, then the built-in servers."""
    settings = build(tree, path)

    def kind(server: str, tool: str) -> str | None:
        for block in (settings.mcp.servers.get(server), settings.providers.get(server)):
            if block and tool in block.tools:
                return block.tools[tool].kind
        return builtin_kind(server, tool)

    return kind
