"""Spans every call of the writing, acting and outside tools: each tool, each thing that it can name, each choice.

A call names one thing for each argument that must name something, in every combination, plainly or with one of them
respelled, under every combination of the values that the schema lists. An argument that may name something is given
each of its things in turn, under every listed value of an argument that must be given, while the others name the
case's own; only what is declared as a target is respelled. Lists of accounts that are an agent's own words
(`affected`, `mentioned`) judge nobody and name nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from pytest_soclab.gateway.people import ROLES
from pytest_soclab.soc.registry import Authority, Effect, Registry, Tool
from pytest_soclab.soc.world import Charter
from pytest_soclab.trials.reach.things import Things, respelled

FILLER = "done"
"""What stands in a text that names nothing."""
_PAGING = frozenset({"limit"})


@dataclass(frozen=True, slots=True)
class Call:
    """One call as it is proposed."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Naming:
    """An argument that names things: the plain names and the respelled ones, as values of the argument."""

    argument: str
    plain: tuple[Any, ...]
    other: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """The arguments of a tool: those that must and may name something, the listed choices, the texts to fill in."""

    needed: tuple[Naming, ...]
    optional: tuple[Naming, ...]
    choices: tuple[tuple[str, tuple[Any, ...]], ...]
    must_choose: frozenset[str]
    filled: Mapping[str, Any]


def is_reached(tool: Tool) -> bool:
    """Tell whether a tool writes, acts or goes outside."""
    return tool.effect is not Effect.READ or tool.authority is not Authority.OBSERVE or tool.outside


def calls_of(registry: Registry, things: Things, charter: Charter) -> Iterator[Call]:
    """Yield every call that a registry, a world and the schemas span."""
    for name in sorted(registry.tools):
        if is_reached(tool := registry.tools[name]):
            yield from _calls(tool, shape_of(tool, things, charter))


def shape_of(tool: Tool, things: Things, charter: Charter) -> Shape:
    """Return what a tool's arguments can hold in a world."""
    schema = tool.schema
    needed: list[Naming] = []
    optional: list[Naming] = []
    choices: list[tuple[str, tuple[Any, ...]]] = []
    filled: dict[str, Any] = {}
    for name, declared in schema.get("properties", {}).items():
        must = name in schema.get("required", ())
        listed = listed_of(declared, schema.get("$defs", {}))
        kind = _names(tool, name, declared)
        if listed:
            choices.append((name, listed))
        elif kind:
            plain = things.get(kind, ())
            other = [respelled(kind, value, charter) for value in plain] if name in tool.targets else []
            axis = _naming(name, plain, other, must and _is_list(declared))
            (needed if must else optional).append(axis)
        elif must:
            filled[name] = _filler(declared)
    lists = {name for name, declared in schema.get("properties", {}).items() if _is_list(declared)}
    must_choose = frozenset(schema.get("required", ()))
    return Shape(_wrapped(needed, lists), _wrapped(optional, lists), tuple(choices), must_choose, filled)


def listed_of(declared: Mapping[str, Any], defs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the values that a schema lists for an argument, none where it lists none."""
    for one in (declared, *declared.get("anyOf", ())):
        found = defs.get(one["$ref"].rpartition("/")[2], one) if "$ref" in one else one
        if "enum" in found:
            return tuple(found["enum"])
        if "const" in found:
            return (found["const"],)
        if found.get("type") == "boolean":
            return (False, True)
    return ()


def _names(tool: Tool, argument: str, declared: Mapping[str, Any]) -> str:
    """Return the type of the things that an argument names, or an empty text."""
    target = tool.targets.get(argument)
    if target is not None:
        return target.type
    judges = argument in ROLES and argument not in tool.words
    return "account" if judges and _is_list(declared) else ""


def _is_list(declared: Mapping[str, Any]) -> bool:
    return any(one.get("type") == "array" for one in (declared, *declared.get("anyOf", ())))


def _naming(name: str, plain: Sequence[str], other: Sequence[str], paired: bool) -> Naming:
    """Return an argument's values; where a list must name somebody, also each of them behind the first one."""
    behind = tuple((plain[0], value) for value in plain[1:]) if paired else ()
    return Naming(name, (*plain, *behind), tuple(value for value in dict.fromkeys(other) if value not in plain))


def _wrapped(axes: Iterable[Naming], lists: Iterable[str]) -> tuple[Naming, ...]:
    return tuple(
        Naming(axis.argument, tuple(map(_listed, axis.plain)), tuple(map(_listed, axis.other)))
        if axis.argument in lists
        else axis
        for axis in axes
    )


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _filler(declared: Mapping[str, Any]) -> Any:
    match declared.get("type"):
        case "integer" | "number":
            return declared.get("minimum", 1)
        case "array":
            return []
        case "object":
            return {}
        case _:
            return FILLER


def _calls(tool: Tool, shape: Shape) -> Iterator[Call]:
    names = [axis.argument for axis in shape.needed]
    for values, choice in product(_spelled(shape.needed), _chosen(shape.choices)):
        yield Call(tool.name, {**dict(zip(names, values, strict=True)), **choice, **shape.filled})
    if all(axis.plain for axis in shape.needed):
        own = {axis.argument: axis.plain[0] for axis in shape.needed}
        chosen = _chosen(tuple(pair for pair in shape.choices if pair[0] in shape.must_choose))
        for axis, choice in product(shape.optional, chosen):
            for value in (*axis.plain, *axis.other):
                yield Call(tool.name, {**own, axis.argument: value, **choice, **shape.filled})


def _chosen(choices: Sequence[tuple[str, tuple[Any, ...]]]) -> list[dict[str, Any]]:
    names = [name for name, _ in choices]
    return [dict(zip(names, values, strict=True)) for values in product(*(values for _, values in choices))]


def _spelled(axes: Sequence[Naming]) -> Iterator[tuple[Any, ...]]:
    """Yield every combination of plain names, then those in which exactly one name is respelled."""
    yield from product(*(axis.plain for axis in axes))
    for axis in axes:
        yield from product(*(axis.other if one is axis else one.plain for one in axes))
