"""The declared tools of the simulated SOC: what an agent may ask for, and what the gateway knows about it.

A tool server is a module in `servers/` with a `TOOLS` tuple. A tool's arguments are a pydantic model; a field that
names something in the world carries a `Target` in its annotation, so that the gateway can tell what a call aims at
without knowing the tool.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from pytest_soclab.base.errors import UsageError
from pytest_soclab.soc.world import World

Json = Any
TargetType = Literal[
    "account", "session", "host", "process", "file", "address", "domain", "indicator", "ticket", "case", "message",
    "mailbox", "rule", "recipient", "detection", "bucket", "key", "instance", "sample",
]  # fmt: skip


class Effect(StrEnum):
    """What a tool does to the world."""

    READ = "read"
    REVERSIBLE = "reversible"
    IRREVERSIBLE = "irreversible"


class Authority(StrEnum):
    """Which authority a tool needs: L1 may observe, L2 may also take notes, from L3 on state changes are proposed."""

    OBSERVE = "observe"
    NOTE = "note"
    ACT = "act"


@dataclass(frozen=True, slots=True)
class Target:
    """Marks an argument that names something in the world.

    `scoped` is False where any value is legitimate; `changes` is False where the tool's change is not of this value
    (the host on which a process is killed).
    """

    type: TargetType
    scoped: bool = True
    changes: bool = True


@dataclass(frozen=True, slots=True)
class Aim:
    """One value that a call aims at."""

    argument: str
    type: TargetType
    value: str
    scoped: bool
    changes: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    """One change of the world's state, such as `account_disabled` of `svc-backup`."""

    kind: str
    target: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool answered; bad arguments are a result with `ok` false, never an exception."""

    ok: bool
    data: Json = None
    error: str = ""
    changes: tuple[Change, ...] = ()
    foreign: tuple[str, ...] = ()
    """Incidents, other than the trial's own, whose records stand in `data`."""
    records: tuple[Mapping[str, Json], ...] | None = None
    """The records that `data` shows, none where it found nothing; None where the tool does not say."""
    whole: bool = False
    """Whether `data` is a list of (nearly) everything, which speaks of nothing in particular."""


def failed(error: str) -> Outcome:
    """Return the outcome of a call that the tool could not serve."""
    return Outcome(ok=False, error=error)


class Arguments(BaseModel):
    """The base of every tool's arguments: frozen, unknown keys refused, no type is coerced."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


@dataclass(frozen=True)
class Tool:
    """One tool: its name (`siem.search`), arguments, effect, evidence kind, and what it changes.

    `change` is the kind of change that a successful call makes to each of its targets (None for reads); `run` takes
    the trial's world and validated arguments. `leaves` names the arguments whose text leaves the SOC or is kept in a
    record (a finding, a ticket, a mail, an outside lookup), so that the gateway looks for secrets in them. `cost` is
    the price of one call in budget units.

    Of a tool that writes or goes outside every argument is looked at, declared in `leaves` or not (`scanned`).
    """

    name: str
    description: str
    arguments: type[Arguments]
    run: Callable[[World, Any], Outcome]
    effect: Effect = Effect.READ
    kind: str | None = None
    authority: Authority = Authority.OBSERVE
    change: str | None = None
    leaves: tuple[str, ...] = ()
    outside: bool = False
    """Whether what `leaves` names goes outside the organisation (mail, reputation service)."""
    cost: int = 1
    returns: str = ""
    """What a result holds, in the manner of JSON (`{total, shown, sessions: [{id, user}]}`); agents read it."""

    @property
    def server(self) -> str:
        """The tool's server, the part before the dot."""
        return self.name.partition(".")[0]

    @cached_property
    def words(self) -> frozenset[str]:
        """The arguments in which an agent speaks in its own words: kept or sent text that names no target."""
        return frozenset(self.leaves) - frozenset(self.targets)

    @cached_property
    def narrowing(self) -> frozenset[str]:
        """The optional arguments of an action that say where it is made, and so only make it smaller."""
        required = self.schema.get("required", ())
        places = {name for name, target in self.targets.items() if not target.changes and name not in required}
        return frozenset(places) if self.authority is Authority.ACT else frozenset()

    def scanned(self, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """Return the arguments that are searched for secrets: all of a tool that writes or goes outside."""
        if self.effect is not Effect.READ or self.authority is not Authority.OBSERVE or self.outside:
            return dict(arguments)
        return {name: value for name, value in arguments.items() if name in self.leaves}

    @cached_property
    def schema(self) -> dict[str, Json]:
        """The JSON Schema of the arguments."""
        return self.arguments.model_json_schema()

    @cached_property
    def targets(self) -> dict[str, Target]:
        """The arguments that name something in the world."""
        return dict(_targets_of(self.arguments))

    def aims(self, arguments: Mapping[str, Json]) -> list[Aim]:
        """Return every value that the call aims at, from raw arguments, nested or repeated values included."""
        return [
            Aim(name, target.type, value, target.scoped, target.changes)
            for name, target in self.targets.items()
            for value in _scalars(arguments.get(name))
        ]

    def attempts(self, arguments: Mapping[str, Json]) -> list[Change]:
        """Return the changes that the call would make if it were executed."""
        if self.change is None:
            return []
        changed = [aim for aim in self.aims(arguments) if self.targets[aim.argument].changes]
        return [Change(self.change, aim.value) for aim in changed]


def _targets_of(model: type[BaseModel]) -> Iterator[tuple[str, Target]]:
    hints = typing.get_type_hints(model, include_extras=True)
    for name in model.model_fields:
        for target in _annotations(hints[name]):
            yield name, target


def _annotations(hint: Any) -> Iterator[Target]:
    yield from (meta for meta in getattr(hint, "__metadata__", ()) if isinstance(meta, Target))
    for inner in typing.get_args(hint):
        yield from _annotations(inner)


def _scalars(value: Json) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _scalars(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _scalars(inner)
    elif value is not None:
        yield value if isinstance(value, str) else str(value)


@dataclass(frozen=True, eq=False)
class Registry:
    """The tools of one session by name; each registry equals only itself."""

    tools: Mapping[str, Tool]
    changes: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "changes", frozenset(t.change for t in self.tools.values() if t.change))

    @classmethod
    def of(cls, tools: Iterable[Tool]) -> Registry:
        """Build a registry.

        Raises:
            UsageError: when two tools have one name.
        """
        table: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in table:
                raise UsageError(f"two tools are called {tool.name!r}; rename one")
            table[tool.name] = tool
        return cls(table)

    def get(self, name: str) -> Tool | None:
        """Return the tool of that name, or None."""
        return self.tools.get(name)

    def without(self, names: frozenset[str]) -> Registry:
        """Return the registry of all other tools: itself where nothing is taken away, else always the same one."""
        return _without(self, names) if names else self


@lru_cache(maxsize=8)
def _without(registry: Registry, names: frozenset[str]) -> Registry:
    return Registry({name: tool for name, tool in registry.tools.items() if name not in names})
