"""Asks a policy once for all calls whose questions differ only in names that the policy does not know.

A policy that tells names apart and takes them apart at an `@`, and does nothing else with them, decides alike on two
questions of which one becomes the other when names are exchanged. Any other policy is asked each question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_soclab.base.errors import PolicyError
from pytest_soclab.gateway.gateway import readable
from pytest_soclab.policy.model import UNAVAILABLE, Decision, Engine, PolicyOutcome, PolicySource
from pytest_soclab.policy.prepared import prepare

_BLIND = frozenset({"count", "is_object", "is_array", "is_string", "is_number", "is_boolean", "is_null", "split"})
"""Builtins for which one name is as good as another, `split` at an `@`."""
_MOMENTS = (10**9, 2**32)
"""Whole numbers that are seconds since the epoch, and nothing that a policy counts or names."""
_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"|`[^`]*`')
_LARGE = re.compile(r"\b[0-9]{10,}\b")
_SPLIT = re.compile(r"\bsplit\s*\(")
_SPLIT_AT = re.compile(r'\bsplit\s*\([^,()]*,\s*"@"\s*\)')


class Asker:
    """Decides questions with an engine, and keeps each decision for the questions that are alike."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.known = constants(engine.source)
        self.kept: dict[Any, Decision] = {}

    def decide(self, document: Mapping[str, Any]) -> Decision:
        """Return the decision on a question; an engine that gives no readable answer denies."""
        if self.known is None:
            return self._ask(document)
        mark = alike(document, self.known)
        if mark not in self.kept:
            self.kept[mark] = self._ask(document)
        return self.kept[mark]

    def _ask(self, document: Mapping[str, Any]) -> Decision:
        try:
            return readable(self.engine.decide(document))
        except Exception:  # an engine is an extension point: whatever it raises is no answer
            return Decision(PolicyOutcome.DENY, (UNAVAILABLE,))


def constants(source: PolicySource) -> frozenset[str] | None:
    """Return every text that a policy names, None where it does more with names than to compare them."""
    try:
        ready = prepare(source.path, source.modules, source.data)
    except PolicyError:  # a server's policy may hold what only OPA reads
        return None
    if ready.calculates or ready.builtins - _BLIND or any(map(_LARGE.search, (*source.modules.values(), ready.data))):
        return None
    if any(len(_SPLIT.findall(m)) > len(_SPLIT_AT.findall(m)) for m in source.modules.values()):
        return None
    named = {text[1:-1] for module in source.modules.values() for text in _TEXT.findall(module)}
    named |= set(_texts(source.data))
    return frozenset(named | {part for text in named for part in text.split("@")})


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield name
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def alike(document: Mapping[str, Any], known: frozenset[str]) -> tuple[Any, ...]:
    """Return a question with each name that a policy does not know replaced by when it came first.

    A moment is replaced by its place among the moments of the question: a policy can only compare them.
    """
    shape = _Shape(known)
    shape.put(document)
    return shape.finished()


class _Shape:
    """Takes in a question's values one by one."""

    def __init__(self, known: frozenset[str]) -> None:
        self.known = known
        self.names: dict[str, int] = {}
        self.parts: list[Any] = []
        self.moments: list[int] = []

    def put(self, value: Any) -> None:
        """Take in a value and what is in it."""
        parts = self.parts
        if type(value) is str:
            parts.append(value if value in self.known else self._token(value))
        elif type(value) is dict:
            parts.append(len(value))
            for name, inner in value.items():
                parts.append(name)
                self.put(inner)
        elif type(value) is list:
            parts.append(-len(value) - 1)
            for inner in value:
                self.put(inner)
        else:
            if type(value) is int and _MOMENTS[0] <= value < _MOMENTS[1]:
                self.moments.append(len(parts))
            parts.append((type(value), value))

    def _token(self, text: str) -> tuple[str | int, ...]:
        names, known = self.names, self.known
        return tuple(piece if piece in known else names.setdefault(piece, len(names)) for piece in text.split("@"))

    def finished(self) -> tuple[Any, ...]:
        """Return the shape, its moments replaced by their order."""
        order = sorted({self.parts[at] for at in self.moments}, key=lambda part: part[1])
        for at in self.moments:
            self.parts[at] = ("moment", order.index(self.parts[at]))
        return tuple(self.parts)
