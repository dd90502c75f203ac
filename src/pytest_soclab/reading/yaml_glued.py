"""Finds marks that touch a text: libyaml and ruamel read some of them as marks, YAML 1.2 does not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ruamel.yaml.events import CollectionEndEvent, ScalarEvent

SUSPECT = re.compile(r"[\"'\]}]#|[{,\[]\s*\?\S|\S:[,\]}]")
"""Where to look closer: the same characters may stand within a text, where they mean nothing."""


class Glued(NamedTuple):
    """A mark that touches a text: where it stands, what was found, what is expected, what to do."""

    line: int
    column: int
    found: str
    expected: str
    remedy: str


def glued(events: Iterable[Any], text: str) -> Iterator[Glued]:
    """Yield what only looks like a comment, a key's mark or the end of a key."""
    lines = text.splitlines(keepends=True)
    for event in events:
        if isinstance(event, ScalarEvent):
            yield from _around(event, lines)
        elif isinstance(event, CollectionEndEvent) and _at(lines, event.start_mark) in ("]", "}"):
            yield from _comment(event.end_mark, lines)


def _around(event: Any, lines: list[str]) -> Iterator[Glued]:
    if event.style in ("'", '"'):
        yield from _comment(event.end_mark, lines)
    start = event.start_mark
    if start.column and lines[start.line][start.column - 1] == "?":
        found = f"found ? before {str(event.value)[:40]!r}"
        yield Glued(start.line + 1, start.column, found, "a space after it, or quotes", "put the text in quotes")
    if not event.style and str(event.value).endswith(":"):
        found = f"found the text {str(event.value)[:40]!r}, which readers of YAML take for a key without a value"
        yield Glued(start.line + 1, start.column + 1, found, "a space after the colon, or quotes", "put it in quotes")


def _comment(end: Any, lines: list[str]) -> Iterator[Glued]:
    if _at(lines, end) == "#":
        found = "found # right behind a value: a comment to some readers of YAML, none to others"
        yield Glued(end.line + 1, end.column + 1, found, "a space before a comment", "add the space, or quote the text")


def _at(lines: list[str], mark: Any) -> str:
    return lines[mark.line][mark.column : mark.column + 1] if mark.line < len(lines) else ""
