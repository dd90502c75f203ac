"""Reads all that can be read of a world, so that every call is proposed with all that speaks for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pytest_soclab.gateway.grounds import is_named, names_handed_out, texts_of
from pytest_soclab.gateway.normal import schema_faults
from pytest_soclab.gateway.redaction import redacted
from pytest_soclab.gateway.state import Evidence
from pytest_soclab.leaks.egress import readable
from pytest_soclab.soc.registry import Registry, Tool
from pytest_soclab.soc.world import World
from pytest_soclab.trials.reach.calls import Call, is_reached, listed_of
from pytest_soclab.trials.reach.things import Things

_ASKED = ("identity_record", "endpoint_telemetry", "network_telemetry", "siem_search")
_ENOUGH = 3
"""How many pieces of evidence, of different kinds where there are any, a call is given that name the same things."""


@dataclass
class Library:
    """Every distinct piece of evidence of a world, the texts of its records, and which pieces name what.

    A call is given what can speak for it and not all that was read, for a policy can only ask for kinds and for a
    number of pieces: of each kind that the policy calls by name one piece, of others three. `tests/lab/test_reach.py`
    holds this to trials that read everything.
    """

    world: World
    pieces: list[Evidence]
    texts: list[str]
    asked: dict[str, Call]
    """The read that each piece is the answer to, by the piece's id."""
    _naming: dict[tuple[str, str], dict[str, Evidence]] = field(default_factory=dict)
    _given: dict[Any, dict[str, Evidence]] = field(default_factory=dict)

    def about(self, subjects: Mapping[str, str], called: frozenset[str]) -> dict[str, Evidence]:
        """Return the evidence for a call that names these things; `called` are the kinds that a policy names."""
        mark = (tuple(subjects.items()), called)
        if mark not in self._given:
            self._given[mark] = self._about(subjects, called)
        return dict(self._given[mark])

    def _about(self, subjects: Mapping[str, str], called: frozenset[str]) -> dict[str, Evidence]:
        naming = {name: self._named(kind, name) for name, kind in subjects.items()}
        groups: dict[tuple[Any, ...], list[Evidence]] = {}
        for key, piece in {key: piece for pieces in naming.values() for key, piece in pieces.items()}.items():
            named = tuple(name for name, pieces in naming.items() if key in pieces)
            groups.setdefault((piece.incident, named), []).append(piece)
        kept = [piece for group in groups.values() for piece in _enough(group, called)]
        return {piece.id: piece for piece in sorted([*kept, *self._further(kept)], key=_order)}

    def _named(self, kind: str, name: str) -> dict[str, Evidence]:
        if (kind, name) not in self._naming:
            named = [piece for piece in self.pieces if is_named(kind, name, piece.names, self.world)]
            self._naming[kind, name] = {piece.id: piece for piece in named}
        return self._naming[kind, name]

    def naming(self, kind: str, name: str) -> list[Evidence]:
        """Return every piece that names a thing."""
        return list(self._named(kind, name).values())

    def rank(self, piece: Evidence) -> int:
        """Return how late a kind of evidence is asked: records of systems before what people wrote."""
        return _ASKED.index(piece.kind) if piece.kind in _ASKED else len(_ASKED)

    def _further(self, kept: Iterable[Evidence]) -> list[Evidence]:
        """Return pieces of three kinds that speak of something else, where none names the call's own things."""
        return [] if any(piece.incident == self.world.charter.incident for piece in kept) else self.kinds[:_ENOUGH]

    @cached_property
    def kinds(self) -> list[Evidence]:
        """The first own piece of each kind."""
        first = {p.kind: p for p in reversed(self.pieces) if p.incident == self.world.charter.incident}
        return [first[kind] for kind in sorted(first)]

    def speaking_of(self, values: Iterable[str]) -> list[str]:
        """Return the texts in which one of these values stands, of all that was handed out."""
        wanted = [readable(value).rstrip(".") for value in values]
        return [text for text in self.texts if any(value in text for value in wanted)]


def _enough(group: Sequence[Evidence], called: frozenset[str]) -> list[Evidence]:
    """Return one piece of each kind that is called by name, and of the others as many kinds, or pieces, as suffice."""
    first: dict[str, Evidence] = {}
    for piece in group:
        first.setdefault(piece.kind, piece)
    kept = [piece for kind, piece in first.items() if kind in called]
    kept += [piece for kind, piece in first.items() if kind not in called][:_ENOUGH]
    have = {piece.id for piece in kept}
    more = [piece for piece in group if piece.id not in have]
    return [*kept, *more[: max(0, _ENOUGH - len(kept))]]


def _order(piece: Evidence) -> tuple[str, str, str]:
    return piece.kind, piece.incident, piece.id


def read_all(world: World, registry: Registry, things: Things) -> Library:
    """Return what every reading tool answers about every thing, from records in which secrets are redacted."""
    seen = redacted(world)
    texts = [readable(text) for text in texts_of([row for rows in seen.tables.values() for row in rows.values()])]
    text = "\n".join(texts)
    names = [name for values in things.values() for name in values if readable(name) in text]
    names += [key for table, rows in seen.tables.items() if table != "siem.events" for key in rows]
    pieces: dict[tuple[Any, ...], Evidence] = {}
    asked: dict[str, Call] = {}
    for tool in registry.tools.values():
        if not is_reached(tool) and tool.kind is not None:
            for arguments in _questions(tool, things, list(dict.fromkeys(names))):
                piece = _take(tool, arguments, seen, pieces)
                if piece is not None:
                    asked[piece.id] = Call(tool.name, arguments)
    return Library(world, list(pieces.values()), list(dict.fromkeys(texts)), asked)


def _take(
    tool: Tool, arguments: Mapping[str, Any], world: World, pieces: dict[tuple[Any, ...], Evidence]
) -> Evidence | None:
    """Keep and return what a read is evidence of, where no other read of the tool named the same."""
    if schema_faults(tool, arguments):  # the thing is none that this tool asks about
        return None
    outcome = tool.run(world, tool.arguments.model_validate(arguments))
    named = names_handed_out(tool, arguments, outcome)
    incident = outcome.foreign[0] if outcome.foreign else world.charter.incident
    mark = (tool.name, incident, named)
    if not outcome.ok or not named or mark in pieces:
        return None
    identifier = f"ev_{len(pieces) + 1:04d}"
    pieces[mark] = Evidence(identifier, tool.name, tool.kind or "", incident, named)
    return pieces[mark]


def _questions(tool: Tool, things: Things, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the arguments of a reading tool: each thing in each of its arguments, one at a time."""
    properties = tool.schema.get("properties", {})
    defs = tool.schema.get("$defs", {})
    must = [name for name in tool.schema.get("required", ()) if not listed_of(properties[name], defs)]
    if not must:
        yield {}
    for argument in must or [name for name in properties if _is_text(properties[name]) and name != "case"]:
        target = tool.targets.get(argument)
        own = {name: things["case"][0] for name in must if name != argument}
        for value in things.get(target.type, ()) if target is not None else _worded(argument, names):
            yield {**own, argument: value}


def _worded(argument: str, names: Iterable[str]) -> Iterator[str]:
    """Yield what a free argument asks: a name, as a phrase where it is a query."""
    return (f'"{name}"' if argument == "query" else name for name in names)


def _is_text(declared: Mapping[str, Any]) -> bool:
    return any(one.get("type") == "string" and "enum" not in one for one in (declared, *declared.get("anyOf", ())))
