"""Payload templates: text that may name a variant's fields, and parts of them, and nothing else.

The two marks look as in Jinja, and no template engine reads them: an engine knows comments, blocks and control of white
space besides, and would take attack text that holds such marks for its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from pytest_soclab.base.errors import nearest, quote

_MARK = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_NUMBER = r"\s*(-?\d{1,9})?\s*"
_FIELD = re.compile(rf"\s*([^\W\d]\w*)\s*(?:\[{_NUMBER}(?:(:){_NUMBER}(?::{_NUMBER})?)?\]\s*)?")
_STEP_0 = re.compile(r":[^:]*:\s*-?0+\s*\]")
_FORMS = "write {{ field }}, or {{ field[:20] }} for a part of it"
_VERBATIM = "put text with such marks into a variant's field, which is taken as it is"
_OTHERS = {"{{": "a template without its end", "{%": "a template block", "{#": "a template comment"}


def is_template(text: str) -> bool:
    """Tell whether the text holds template marks, ours or those of template engines, which `problem` refuses."""
    return "{{" in text or "{%" in text or "{#" in text


def problem(text: str, fields: Mapping[str, str] | frozenset[str]) -> tuple[str, str]:
    """Return what is wrong with a template and the remedy, or two empty texts.

    `fields` are the names that every variant has.
    """
    malformed = _malformed(text)
    if malformed[0]:
        return malformed
    unknown = next((name for name in names(text) if name not in fields), None)
    if unknown is None:
        return "", ""
    return f"the unknown template field {unknown!r}", nearest(unknown, fields) if fields else "no variant has fields"


@lru_cache(4096)
def _malformed(text: str) -> tuple[str, str]:
    """Return what is no mark of ours, with the remedy."""
    inside = _MARK.findall(text)
    wrong = next((part for part in inside if not _FIELD.fullmatch(part)), None)
    if wrong is not None:
        return f"the template {quote('{{' + wrong + '}}')}", f"{_FORMS}; {_VERBATIM}"
    if any(_STEP_0.search(part) for part in inside):
        return "a template whose step is 0", f"take the step out; {_FORMS}"
    rest = _MARK.split(text)[::2]
    other = next((what for mark, what in _OTHERS.items() if any(mark in part for part in rest)), "")
    return (other, f"{_FORMS}; {_VERBATIM}") if other else ("", "")


@lru_cache(4096)
def names(text: str) -> tuple[str, ...]:
    """Return the fields that a readable template names, in order."""
    found = (_FIELD.fullmatch(part) for part in _MARK.findall(text))
    return tuple(field[1] for field in found if field is not None)


@lru_cache(4096)
def _compiled(text: str) -> tuple[tuple[str, Callable[[Mapping[str, str]], str]], ...]:
    """Return a readable template as pairs of a text and the part of a field that follows it, and its last text."""
    parts = _MARK.split(text)
    readers = [*map(_reader, parts[1::2]), lambda fields: ""]  # noqa: ARG005 - nothing follows the last text
    return tuple(zip(parts[::2], readers, strict=True))


def _reader(inside: str) -> Callable[[Mapping[str, str]], str]:
    """Return what reads one mark's part of the fields."""
    field = _FIELD.fullmatch(inside)
    if field is None:
        raise ValueError(f"not a template: {inside!r}")
    name, first, colon, last, step = field.groups()
    low, high, stride = (int(number) if number else None for number in (first, last, step))
    if not colon and low is not None:  # one character, or none beyond the end
        high = low + 1 or None
    cut = slice(low, high, stride)
    return lambda fields: fields[name][cut]


def render(value: Any, fields: Mapping[str, str]) -> Any:
    """Return a copy of a JSON value with every template in its texts rendered."""
    if isinstance(value, str):
        return "".join(text + read(fields) for text, read in _compiled(value)) if "{{" in value else value
    if isinstance(value, Mapping):
        return {key: render(inner, fields) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [render(inner, fields) for inner in value]
    return value


def templates_in(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield every text with template marks in a JSON value, with its path."""
    if isinstance(value, str):
        if is_template(value):
            yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from templates_in(inner, (*path, key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from templates_in(inner, (*path, index))
