"""Says in plain English what a YAML scanner means: the two scanners that may be installed word it differently."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple


class Words(NamedTuple):
    """What was found, what was expected, what to do."""

    found: str
    expected: str
    remedy: str


_TABLE: tuple[tuple[str, Words], ...] = (
    (
        "mapping values are not allowed",
        Words(
            "found a second `: ` in one line, or an indent that starts nothing",
            "one `key: value` a line",
            "put a text with a colon in quotes, or mend the indent",
        ),
    ),
    (
        "could not find expected ':'",
        Words(
            "found a line that is no `key: value`",
            "a colon after the key",
            "add the colon, or join the line with the one above",
        ),
    ),
    (
        r"expected ',' or '\]'",
        Words("found a list in brackets that does not end", "a comma or `]`", "close the bracket"),
    ),
    (
        r"expected ',' or '\}'",
        Words("found a mapping in braces that does not end", "a comma or `}`", "close the brace"),
    ),
    (
        "unexpected end of stream",
        Words("found a quoted text that does not end", "a closing quotation mark", "close the quotation"),
    ),
    (
        "unhashable key|acceptable key",
        Words("found braces that start a mapping", "a text", 'put a template in quotes: "{{ payload }}"'),
    ),
    (
        r"expected '-' indicator|but found '\?'",
        Words("found a key between the items of a list", "`- ` before each item", "mend the indent"),
    ),
    (
        "expected key|expected <block end>",
        Words(
            "found a line that is indented unlike its neighbours",
            "keys of one mapping in one column",
            "mend the indent",
        ),
    ),
    (
        "while scanning an alias|undefined alias",
        Words(
            "found the alias (`*name`) of nothing",
            "an anchor (`&name`) above it",
            "put a text that starts with * in quotes",
        ),
    ),
    (
        "unknown escape character",
        Words(
            "found a backslash before a character that it does not escape",
            "an escape such as \\n",
            "double the backslash, or use single quotes",
        ),
    ),
    (
        "chomping or indentation|comment or line break",
        Words(
            "found something after the mark of a block text",
            "a line break after `|` or `>`",
            "move the text to the next line",
        ),
    ),
    (
        "number with too many digits",
        Words(
            "found a number of more than 40 digits",
            "a whole number within ±2^53",
            "write a larger one as text, in quotes",
        ),
    ),
    (
        "found another document|expected <document start>",
        Words(
            "found a second document",
            "one document in a file",
            "move it to a file of its own",
        ),
    ),
)


def directive(line: str) -> Words:
    """Return what is wrong with a directive, a line that starts with % above a document."""
    if re.match(r"%YAML\b", line):
        return Words("found a directive for another version of YAML", "YAML 1.2", "take the %YAML line out")
    return Words("found a directive (a line that starts with %)", "none but %YAML 1.2", "take the line out")


def open_ended(problem: str) -> bool:
    """Tell whether something does not end, so that its start is the place to look at."""
    return bool(re.search(r"expected ',' or|unexpected end of stream", problem))


def explain(context: str, problem: str, line: Sequence[str], column: int) -> Words:
    """Return what a scanner complains about; `line` holds the line of text that it stopped in, where there is one."""
    text = f"{context}: {problem}"
    if "cannot start any token" in text:
        return _no_token(line[0][column - 1 : column] if line else "")
    if line and re.search(r"(^|[:\-\[,])\s*\*\w*\s", line[0]) and "expected" in problem:
        text = "while scanning an alias"
    known = next((words for pattern, words in _TABLE if re.search(pattern, text)), None)
    return known or Words(f"not readable as YAML: {problem.splitlines()[0]}", "plain YAML 1.2", "")


def _no_token(character: str) -> Words:
    if character == "\t":
        return Words("found a tab", "spaces", "indent with spaces")
    return Words(f"found a text that starts with {character!r}", "a text in quotes", "put the text in quotes")
