"""Asks a policy once for all calls whose questions differ only in names that the policy does not know.

A policy that compares names and takes them apart at an `@`, and does nothing else with them, decides alike on two
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
_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"|`[^`]*`')
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
        used = prepare(source.path, source.modules, source.data).builtins
    except PolicyError:  # a server's policy may hold what only OPA reads
        return None
    if used - _BLIND or any(len(_SPLIT.findall(m)) > len(_SPLIT_AT.findall(m)) for m in source.modules.values()):
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


def alike(document: Any, known: frozenset[str]) -> tuple[Any, ...]:
    """Return a question with each name that a policy does not know replaced by when it came first."""
    names: dict[str, int] = {}
    parts: list[Any] = []

    def put(value: Any) -> None:
        if type(value) is str:
            parts.append(value if value in known else token(value))
        elif type(value) is dict:
            parts.append(len(value))
            for name, inner in value.items():
                parts.append(name)
                put(inner)
        elif type(value) is list:
            parts.append(-len(value) - 1)
            for inner in value:
                put(inner)
        else:
            parts.append((type(value), value))

    def token(text: str) -> Any:
        return tuple(
            piece if piece in known else names.setdefault(piece, len(names)) for piece in text.split("@")
        )

    put(document)
    return tuple(parts)
