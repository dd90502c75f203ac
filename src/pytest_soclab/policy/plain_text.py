"""Texts for the embedded engine, in which every character stands for itself.

regopy compares, counts and searches texts in their escaped form: `a"b` has four characters there, and a line end is a
backslash and an n. So characters that need an escape go in as private characters of plane 15 and come out again as what
they were; a text that holds one of those already is refused, since nobody could tell it from the other.
"""

from __future__ import annotations

import re
from typing import Any

_BASE = 0xF0000
_ESCAPED = [*range(0x20), ord('"'), ord("\\")]
_INWARD = {code: chr(_BASE + code) for code in _ESCAPED}
_OUTWARD = {_BASE + code: chr(code) for code in _ESCAPED}
_NEEDS = re.compile(r'["\\\x00-\x1f]')
_STANDS = re.compile("[\U000f0000-\U000f00ff]")


def inward(text: str) -> str:
    """Return a text as the engine gets it.

    Raises:
        ValueError: when it holds a private character that already stands for something.
    """
    if _STANDS.search(text):
        raise ValueError("found a private character (U+F0000 to U+F00FF)")
    return text.translate(_INWARD) if _NEEDS.search(text) else text


def outward(value: Any) -> Any:
    """Return an answer of the engine with every character what it was."""
    match value:
        case str():
            return value.translate(_OUTWARD) if _STANDS.search(value) else value
        case list():
            return [outward(item) for item in value]
        case dict():
            return {outward(key): outward(item) for key, item in value.items()}
    return value


def inward_all(value: Any) -> Any:
    """Return a document with every text as the engine gets it, and whole numbers written without a point.

    Raises:
        ValueError: as `inward`.
    """
    match value:
        case str():
            return inward(value)
        case list():
            return [inward_all(item) for item in value]
        case dict():
            return {inward(key): inward_all(item) for key, item in value.items()}
        case float() if value.is_integer():
            return int(value)
    return value
