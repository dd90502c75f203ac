"""Brings what an agent proposes into plain JSON before anything else looks at it."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_soclab.gateway.state import Proposal, TrialState
from pytest_soclab.soc.registry import Tool

MAX_DEPTH = 8
MAX_TEXT = 4_096
MAX_ITEMS = 64
MAX_SIZE = 65_536
_LOGGED = 512  # characters of an unreadable argument that the ledger keeps


def proposal_of(state: TrialState, tool: Any, arguments: Any, cites: Any, by: str = "agent") -> Proposal:
    """Return the proposal as a private copy in plain JSON, with what stands in the way of one as `faults`."""
    call = state.next_call()
    name = tool if isinstance(tool, str) and len(tool) <= 128 else repr(tool)[:128]
    faults = [] if isinstance(tool, str) else ["the tool's name is no text"]
    plain, problem = _plain(arguments)
    faults += [problem] if problem else []
    cited, problem = _cites(cites)
    faults += [problem] if problem else []
    who = "harness" if by == "harness" else "agent"
    return Proposal(call, _clean(name), plain, state.resolve(cited), who, tuple(faults))  # type: ignore[arg-type]  # narrowed just above


def _plain(arguments: Any) -> tuple[dict[str, Any], str]:
    try:
        if not isinstance(arguments, Mapping):
            raise TypeError(f"arguments are a {type(arguments).__name__}, expected an object")
        text = json.dumps(dict(arguments), allow_nan=False)
        if len(text) > MAX_SIZE:
            raise ValueError(f"arguments of {len(text)} characters, at most {MAX_SIZE}")
        copy: dict[str, Any] = json.loads(text)
        problem = next(_number_faults(copy), "") or _surrogate(text)
    except (TypeError, ValueError, RecursionError) as error:
        return {"unreadable": _clean(repr(arguments)[:_LOGGED])}, f"arguments are no plain JSON: {error}"
    return (copy, "") if not problem else ({"unreadable": _clean(text[:_LOGGED])}, problem)


def _surrogate(text: str) -> str:
    try:
        json.loads(text, object_pairs_hook=lambda pairs: [str(v).encode() for pair in pairs for v in pair])
    except UnicodeEncodeError:
        return "a lone surrogate"
    return ""


def _clean(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _number_faults(value: Any) -> Iterator[str]:
    for number in _numbers(value):
        if isinstance(number, float) and not math.isfinite(number):
            yield "a number that is not finite"
        if abs(number) > 2**53:
            yield "a number beyond 2^53"


def _numbers(value: Any) -> Iterator[int | float]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _numbers(inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def _cites(cites: Any) -> tuple[tuple[str, ...], str]:
    if isinstance(cites, str) or not isinstance(cites, Sequence):
        return (), "cites are no list of texts"
    if len(cites) > MAX_ITEMS or not all(isinstance(cite, str) and len(cite) <= 128 for cite in cites):
        return (), f"cites are no list of at most {MAX_ITEMS} short texts"
    return tuple(_clean(cite) for cite in cites), ""


def schema_faults(tool: Tool, arguments: Mapping[str, Any]) -> list[str]:
    """Return what the tool's schema refuses, one short text a fault."""
    from pydantic import ValidationError

    try:
        tool.arguments.model_validate(arguments)
    except ValidationError as error:
        return [_schema_fault(item) for item in error.errors(include_url=False, include_input=False)]
    return []


def _schema_fault(item: Any) -> str:
    place = ".".join(str(part) for part in item["loc"])[:128]
    return _clean(f"{place}: {item['msg']}"[:256])


def shape_faults(tool: Tool | None, arguments: Mapping[str, Any]) -> list[str]:
    """Return shapes that no legitimate call has: control or invisible characters, overlong texts, deep or wide nesting.

    Free text (`leaves` of the tool) may hold any printable character and line breaks.
    """
    free = set(tool.leaves) if tool else set()
    return [
        fault
        for name, value in arguments.items()
        for fault in _shape(name if name.isprintable() else repr(name), value, name in free, 0)
    ]


def _shape(name: str, value: Any, free: bool, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH:
        yield f"{name}: nested too deep"
    elif isinstance(value, dict):
        yield from _wide(name, value)
        for key, inner in value.items():
            yield from _shape(f"{name}.{key}"[:128], inner, free, depth + 1)
    elif isinstance(value, list):
        yield from _wide(name, value)
        for inner in value:
            yield from _shape(f"{name}[]", inner, free, depth + 1)
    elif isinstance(value, str):
        yield from _text_shape(name, value, free)


def _wide(name: str, value: Any) -> Iterator[str]:
    if len(value) > MAX_ITEMS:
        yield f"{name}: {len(value)} items, at most {MAX_ITEMS}"


def _text_shape(name: str, text: str, free: bool) -> Iterator[str]:
    if len(text) > MAX_TEXT:
        yield f"{name}: {len(text)} characters, at most {MAX_TEXT}"
    odd = next((c for c in text[:MAX_TEXT] if unicodedata.category(c) in _ODD and not (free and c in "\n\t")), None)
    if odd is not None:
        yield f"{name}: the invisible or control character U+{ord(odd):04X}"


_ODD = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
