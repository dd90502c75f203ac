"""The simulated SOC's tools as a client of another protocol sees them: portable names, flat schemas, evidence to cite.

Clients differ in what they understand. Names have no dot, no schema refers to another one, no field may be null, and
what a call cites is one of the changing tools' arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pytest_soclab.base.errors import UsageError
from pytest_soclab.fronts.protocol import CITES_MEANING, ToolSpec
from pytest_soclab.fronts.scripted import PUBLISH

PORTABLE = re.compile(r"[a-zA-Z0-9_-]{1,64}")
CITES = "cites"
_CITES_SCHEMA = {"type": "array", "items": {"type": "string"}, "description": CITES_MEANING}
_UNUSED = frozenset({"title", "default"})  # what pydantic adds and no client needs


@dataclass(frozen=True, slots=True)
class ToolView:
    """One tool as a client sees it, and the name that the gateway knows it by."""

    name: str
    tool: str
    description: str
    schema: Mapping[str, Any]
    reads: bool
    cites: bool
    """Whether `cites` is the front's own argument and none of the tool's."""

    def opened(self, arguments: Mapping[str, Any], known: Mapping[str, str]) -> tuple[dict[str, Any], Any]:
        """Return a call's arguments as the tool takes them, and what it cites.

        A null in an optional argument says the same as leaving it out. Cited tools may have their portable names
        (`known`, by portable name).
        """
        required = self.schema.get("required", ())
        optional = {name for name in self.schema["properties"] if name not in required}
        kept = {name: value for name, value in arguments.items() if value is not None or name not in optional}
        cites = kept.pop(CITES, None) if self.cites else None
        cited = () if cites is None else cites
        if isinstance(cited, list | tuple):
            cited = [known.get(cite, cite) if isinstance(cite, str) else cite for cite in cited]
        return kept, cited or (_claimed(kept) if self.tool == PUBLISH else ())


def _claimed(arguments: Mapping[str, Any]) -> list[Any]:
    """Return what a finding's claims rest on, which is what publishing it cites."""
    claims = arguments.get("claims")
    found = [claim.get("evidence") for claim in claims if isinstance(claim, dict)] if isinstance(claims, list) else []
    return list(dict.fromkeys(one for ids in found if isinstance(ids, list) for one in ids if isinstance(one, str)))


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Every tool of a case by its portable name."""

    tools: Mapping[str, ToolView]
    names: Mapping[str, str]
    """Portable name to the gateway's name."""

    def get(self, name: str) -> ToolView | None:
        """Return a tool by its portable name, or by the gateway's."""
        return self.tools.get(name) or self.tools.get(portable(name))


def portable(name: str) -> str:
    """Return a tool's name in the characters that every client takes, such as `identity_disable_account`."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)


@lru_cache(maxsize=8)
def _toolbox(tools: tuple[_Key, ...]) -> Toolbox:
    views: dict[str, ToolView] = {}
    for key in tools:
        view = _view(key.spec)
        if not PORTABLE.fullmatch(view.name):
            raise UsageError(f"the tool {key.spec.name!r} has no name of 1 to 64 letters, digits, _ and -; rename it")
        if view.name in views:
            first = views[view.name].tool
            raise UsageError(f"the tools {first!r} and {key.spec.name!r} are both {view.name!r} over MCP; rename one")
        views[view.name] = view
    return Toolbox(views, {view.name: view.tool for view in views.values()})


@dataclass(frozen=True, slots=True)
class _Key:
    """A tool that equals itself alone, so that a case's tools are made ready once."""

    spec: ToolSpec

    def __hash__(self) -> int:
        return id(self.spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.spec is self.spec


def toolbox(tools: Iterable[ToolSpec]) -> Toolbox:
    """Return a case's tools as clients see them.

    Raises:
        UsageError: when two tools would have one name, or one has none that clients take.
    """
    return _toolbox(tuple(_Key(tool) for tool in tools))


def _view(spec: ToolSpec) -> ToolView:
    schema = flat(spec.parameters)
    reads = spec.effect == "read"
    adds = not reads and CITES not in schema.get("properties", {})
    properties = {**schema.get("properties", {}), **({CITES: _CITES_SCHEMA} if adds else {})}
    whole = {"type": "object", **schema, "properties": properties}
    return ToolView(portable(spec.name), spec.name, _described(spec), whole, reads, adds)


def _described(spec: ToolSpec) -> str:
    effect = {"read": "", "reversible": " Changes something.", "irreversible": " Cannot be undone."}[spec.effect]
    shape = f" `data` of the result: {spec.returns}." if spec.returns else ""
    return f"{spec.description}{effect}{shape}"


def flat(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema without references, and without null as a choice: an optional field may be left out."""
    flattened = _flat(schema, schema.get("$defs", {}), 0)
    assert isinstance(flattened, dict)  # a mapping stays one
    return flattened


_DEEPEST = 16  # a schema that contains itself ends here


def _flat(value: Any, known: Mapping[str, Any], depth: int) -> Any:
    if isinstance(value, list):
        return [_flat(inner, known, depth + 1) for inner in value]
    if not isinstance(value, Mapping) or depth > _DEEPEST:
        return {} if isinstance(value, Mapping) else value
    if "$ref" in value:
        beside = {name: inner for name, inner in value.items() if name != "$ref"}
        return _flat({**known.get(str(value["$ref"]).rpartition("/")[2], {}), **beside}, known, depth + 1)
    if "anyOf" in value:
        return _flat(_chosen(value), known, depth + 1)
    return {
        name: _fields(inner, known, depth) if name == "properties" else _flat(inner, known, depth + 1)
        for name, inner in value.items()
        if name not in _UNUSED and name != "$defs"
    }


def _fields(properties: Mapping[str, Any], known: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """Return an object's properties, whose names are the tool's own words and never JSON Schema's."""
    return {name: _flat(schema, known, depth + 1) for name, schema in properties.items()}


def _chosen(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a choice without null; a choice of one is that one."""
    beside = {name: inner for name, inner in value.items() if name not in ("anyOf", "default")}
    choices = [choice for choice in value["anyOf"] if choice != {"type": "null"}]
    return {**choices[0], **beside} if len(choices) == 1 else {"oneOf": choices, **beside}
