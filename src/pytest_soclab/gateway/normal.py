"""Brings what an agent proposes into plain JSON before anything else looks at it.

Reading a foreign object can run its code (a mapping's `items`, a `__repr__`), as often as it is read. So it is read
once, in `request_of`, and everything behind that sees exact texts, numbers, lists and dictionaries of our own.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from pytest_soclab.gateway.state import Proposal, TrialState
from pytest_soclab.soc.registry import Effect, Tool

MAX_DEPTH = 8
MAX_TEXT = 4_096
MAX_ITEMS = 64
MAX_SIZE = 65_536
_MAX_NAME = 128
_MAX_NESTING = 64  # levels that are read at all; beyond `MAX_DEPTH` a call is denied, beyond this it is unreadable
_WRITER = json.JSONEncoder(allow_nan=False, ensure_ascii=False)
_LOGGED = 512  # characters of an unreadable argument that the ledger keeps


@dataclass(frozen=True, slots=True)
class Request:
    """A call as plain JSON of our own, with why it is none as `faults`."""

    tool: str
    arguments: dict[str, Any]
    cites: tuple[str, ...]
    faults: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Return the request as JSON text, which carries no code."""
        return json.dumps([self.tool, self.arguments, self.cites, self.faults])


def request_of(tool: Any, arguments: Any, cites: Any) -> Request:
    """Return a proposed call as plain JSON, whatever the given objects are; runs whatever code they bring."""
    name, fault = _name(tool)
    plain, problem = _plain(arguments)
    cited, more = _cites(cites)
    return Request(name, plain, cited, tuple(text for text in (fault, problem, more) if text))


def request_from(text: str) -> Request:
    """Read a request back from its text.

    Raises:
        ValueError: when it is none.
    """
    match json.loads(text):
        case [str(tool), dict(arguments), list(cites), list(faults)] if all(isinstance(f, str) for f in faults):
            read = request_of(tool, arguments, cites)
            return replace(read, faults=(*(_clean(fault)[:_LOGGED] for fault in faults), *read.faults))
    raise ValueError("no request")


def proposal_of(state: TrialState, request: Request, by: str = "agent") -> Proposal:
    """Return the proposal that a request makes in a trial, with its number."""
    who = "harness" if by == "harness" else "agent"
    cites = state.resolve(request.cites)
    return Proposal(state.next_call(), request.tool, request.arguments, cites, who, request.faults)  # type: ignore[arg-type]  # narrowed just above


def _name(tool: Any) -> tuple[str, str]:
    if not _is_text(tool):
        return _shown(tool)[:_MAX_NAME], "the tool's name is no text"
    name = _clean(_exact(tool))
    return name[:_MAX_NAME], "" if len(name) <= _MAX_NAME else f"the tool's name has more than {_MAX_NAME} characters"


def _plain(arguments: Any) -> tuple[dict[str, Any], str]:
    try:
        if not isinstance(arguments, Mapping):
            return {"unreadable": _shown(arguments)}, f"arguments are a {type(arguments).__name__}, expected an object"
        text = _WRITER.encode(dict(arguments))
        text.encode()  # a lone surrogate is no UTF-8
        if len(text) > MAX_SIZE:
            raise ValueError(f"{len(text)} characters, at most {MAX_SIZE}")
        copy: dict[str, Any] = json.loads(text)
        problem = next(_problems(copy, 0), "")
    except Exception as error:  # reading a foreign object runs its code, which may raise anything
        return {"unreadable": _shown(arguments)}, _clean(f"arguments are no plain JSON: {said(error)}")
    return (copy, "") if not problem else ({"unreadable": _clean(text[:_LOGGED])}, problem)


def _problems(value: Any, depth: int) -> Iterator[str]:
    if depth > _MAX_NESTING:
        yield f"arguments are nested more than {_MAX_NESTING} levels deep"
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _problems(inner, depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        yield "a number that is not finite"
    elif isinstance(value, int | float) and abs(value) >= 2**53:
        yield "a number of 2^53 or more, which JSON readers round"


def _is_text(value: Any) -> bool:
    """Tell whether an object is a text by its real type, not by what it says of its class."""
    return issubclass(type(value), str)


def _exact(text: str) -> str:
    """Return the plain text of a text whose class may say something else of itself."""
    return str.__str__(text)


def _clean(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _shown(value: Any) -> str:
    """Return a short text of a foreign object, even of one that refuses to give any."""
    try:
        return _clean(_exact(repr(value))[:_LOGGED])
    except Exception:  # see `_plain`
        return f"<an object of type {type(value).__name__!r} that cannot be shown>"


def said(error: BaseException) -> str:
    """Return what an exception says, one that cannot say it included; safe to be logged."""
    try:
        text = _exact(str(error))
    except Exception:  # see `_plain`
        text = "(it cannot say why)"
    return _clean(text if len(text) <= _LOGGED else f"{text[:_LOGGED]}… ({len(text)} characters)")


def _cites(cites: Any) -> tuple[tuple[str, ...], str]:
    try:
        if _is_text(cites) or not isinstance(cites, Sequence):
            return (), "cites are no list of texts"
        given = list(islice(cites, MAX_ITEMS + 1))
    except Exception as error:  # see `_plain`
        return (), _clean(f"cites are no list of texts: {said(error)}")
    texts = tuple(_clean(_exact(cite)) for cite in given if _is_text(cite))
    if len(texts) < len(given) or len(given) > MAX_ITEMS or any(len(text) > _MAX_NAME for text in texts):
        return (), f"cites are no list of at most {MAX_ITEMS} short texts"
    return texts, ""


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

    Free text (`leaves` of the tool) may hold any printable character and line breaks; a question may hold loose marks,
    which nobody signs or reads.
    """
    free = set(tool.leaves) if tool else set()
    odd = _is_control if tool and tool.effect is Effect.READ and not tool.outside else _is_unseen
    return [
        fault
        for name, value in arguments.items()
        for fault in _shape(
            name if name.isprintable() else repr(name), value, _but_breaks(odd) if name in free else odd, 0
        )
    ]


_IsOdd = Callable[[str], bool]


def _but_breaks(odd: _IsOdd) -> _IsOdd:
    return lambda char: char not in "\n\t" and odd(char)


def _shape(name: str, value: Any, odd: _IsOdd, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH:
        yield f"{name}: nested too deep"
    elif isinstance(value, dict):
        yield from _wide(name, value)
        for key, inner in value.items():
            yield from _shape(f"{name}.{key}"[:128], inner, odd, depth + 1)
    elif isinstance(value, list):
        yield from _wide(name, value)
        for inner in value:
            yield from _shape(f"{name}[]", inner, odd, depth + 1)
    elif isinstance(value, str):
        yield from _text_shape(name, value, odd)


def _wide(name: str, value: Any) -> Iterator[str]:
    if len(value) > MAX_ITEMS:
        yield f"{name}: {len(value)} items, at most {MAX_ITEMS}"


def _text_shape(name: str, text: str, odd: _IsOdd) -> Iterator[str]:
    if len(text) > MAX_TEXT:
        yield f"{name}: {len(text)} characters, at most {MAX_TEXT}"
    if text.isascii() and text.isprintable():
        return
    composed = unicodedata.normalize("NFC", text[:MAX_TEXT])
    found = next((c for c in composed if odd(c)), None)
    if found is not None:
        yield f"{name}: the invisible or control character U+{ord(found):04X}; write the text without it"


def _is_control(char: str) -> bool:
    return unicodedata.category(char) in _ODD


def _is_unseen(char: str) -> bool:
    """Tell whether a reader does not see a character: controls, format characters, fillers, loose marks and selectors.

    The marks of scripts that are written with them (Devanagari, Thai, Arabic, …) are seen and stay.
    """
    loose = unicodedata.category(char) in ("Mn", "Me", "Cn") and _is_loose(ord(char))
    return loose or char in _BLANK or _is_control(char)


def _is_loose(code: int) -> bool:
    return any(first <= code <= last for first, last in _LOOSE_MARKS)


_ODD = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800")
"""Letters and symbols that show nothing: the Hangul fillers and the empty Braille pattern."""
_LOOSE_MARKS = (
    (0x0300, 0x036F), (0x0483, 0x0489), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF),
    (0x2065, 0x2065), (0x20D0, 0x20FF), (0xFE00, 0xFE0F), (0xFE20, 0xFE2F), (0xFFF0, 0xFFF8), (0xE0000, 0xE0FFF),
)  # fmt: skip
"""Marks of no script of its own that no letter took up in composition, and the variation selectors."""
