"""Markdown blocks of a file, one window at a time, through markdown-it-py.

The whole token list of a file would take eighty times its size. So a window of some lines is parsed, every block but
the last is handed out (the last may go on below the window), and the next window starts at that block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from pytest_soclab.known_answer.basis.files import decode, refuse
from pytest_soclab.known_answer.markdown.tables import TABLE, compact_table

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

WINDOW = 64 * 1024
LONG_PARAGRAPH = 16  # windows after which a paragraph is cut in two
MOST_LINES = 200_000
DEEPEST = 40

_REFERENCE = re.compile(rb"^[ \t>]{0,8}\[([^\]\[\\^][^\]\[\\]{0,200})\]:[ \t]*\S", re.MULTILINE)
_RAW = {"code_block": "code", "fence": "fence", "html_block": "html"}
_RULES = ("table", "code", "fence", "blockquote", "hr", "list", "html_block", "heading", "lheading")


@dataclass(slots=True)
class Heading:
    """A heading: its level 1 to 6, its source text, its line."""

    level: int
    source: str
    line: int


@dataclass(slots=True)
class Prose:
    """A run of text that is no table: a paragraph, code, a fence or raw HTML (`kind`), its source, its first line.

    `listed` says that it stands in a list.
    """

    source: str
    line: int
    kind: str = "paragraph"
    listed: bool = False


@dataclass(slots=True)
class Numbered:
    """One entry of a numbered list that stands in no other numbered list."""

    line: int


@dataclass(slots=True)
class Table:
    """A table, or (`continued`) further rows of the table before: rows are cells joined by `tables.CELL`."""

    header: tuple[str, ...]
    line: int
    rows: list[str]
    lines: range
    continued: bool = False


Block = Heading | Prose | Numbered | Table


def read_blocks(data: bytes, path: str) -> Iterator[Block]:
    """Yield the blocks of a Markdown file in order; `data` has newlines only.

    Raises KnownAnswerError on input that cannot be read safely: one list entry, quotation or code block of more than
    200,000 lines, nesting deeper than forty levels, bytes that are not UTF-8.
    """
    reader = _Reader(path, data)
    size = WINDOW
    while reader.start < len(data):
        lines, final = reader.window(size)
        if size > WINDOW and len(lines) > MOST_LINES:
            refuse(f"one block of more than {MOST_LINES} lines", path, reader.line, remedy="split it by a blank line")
        tokens = reader.parse(lines)
        keep = len(lines) if final else _whole(tokens, len(lines), cut=size >= LONG_PARAGRAPH * WINDOW)
        if keep > len(reader.prefix):
            yield from _blocks(tokens, keep, reader)
            reader.advance(lines, keep, tokens)
            size = WINDOW
        else:
            size *= 2


def newlines(data: bytes) -> bytes:
    """Return `data` with every line end as one newline."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def references(data: bytes) -> frozenset[str]:
    """Return the labels of the file's link definitions, as markdown-it-py names them; a footnote is none."""
    if b"]:" not in data:
        return frozenset()
    from markdown_it.common.utils import normalizeReference

    return frozenset(normalizeReference(label.decode("utf-8", "replace")) for label in _REFERENCE.findall(data))


@dataclass
class _Reader:
    """The place in the file, and the head of a table that goes on from the window before."""

    path: str
    data: bytes
    start: int = 0
    line: int = 1
    prefix: list[str] = field(default_factory=list)

    @property
    def first(self) -> int:
        """The file's line number of the window's line 0."""
        return self.line - len(self.prefix)

    def window(self, size: int) -> tuple[list[str], bool]:
        """Return the lines of at least `size` bytes, and whether the file ends with them."""
        end = self.data.find(b"\n", self.start + size)
        end = len(self.data) if end < 0 else end
        text = decode(self.data[self.start : end], self.path, self.line)
        return self.prefix + text.split("\n"), end + 1 >= len(self.data)

    def parse(self, lines: list[str]) -> list[Token]:
        """Return the block tokens of `lines`."""
        try:
            return _parser().parse("\n".join(lines), {"path": self.path, "first": self.first})
        except RecursionError:
            refuse("Markdown nested too deeply", self.path, self.line, remedy="flatten the lists and quotations")

    def advance(self, lines: list[str], keep: int, tokens: list[Token]) -> None:
        """Move behind the first `keep` lines of a window."""
        taken = lines[len(self.prefix) : keep]
        self.start += sum(len(line.encode()) + 1 for line in taken)
        self.line += len(taken)
        whole = [token for token in tokens if token.type == TABLE and token.level == 0 and token.map == [0, keep]]
        self.prefix = lines[:2] if whole and keep == len(lines) else []


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("zero", {"html": True, "maxNesting": 2 * DEEPEST}).enable(list(_RULES))
    parser.core.ruler.disable(["inline", "text_join"])
    parser.block.ruler.at("table", compact_table, {"alt": ["paragraph", "reference"]})
    parser.block.ruler.before("table", "soclab_depth", _depth)
    return parser


def _depth(state: StateBlock, start: int, _end: int, _silent: bool) -> bool:
    if state.level > DEEPEST:
        line = state.env["first"] + start
        refuse("Markdown nested too deeply", state.env["path"], line, remedy="flatten the lists and quotations")
    return False


def _whole(tokens: list[Token], lines: int, *, cut: bool) -> int:
    """Return how many lines of the window hold blocks that cannot go on below it; 0 where not one is known to.

    With `cut`, a paragraph that fills the window is cut before its last line (which may be the head of a table).
    """
    last = next((token for token in reversed(tokens) if token.level == 0 and token.map), None)
    if last is None or last.map is None:
        return lines
    if last.map[0] > 0:
        return last.map[0]
    if last.type == TABLE:
        return lines
    if last.type == "paragraph_open" or (last.type == "inline" and last.level == 0):
        return lines - 1 if cut else 0
    entries = [token.map[0] for token in tokens if token.type == "list_item_open" and token.level == 1 and token.map]
    return entries[-1] if entries else 0


def _blocks(tokens: list[Token], keep: int, reader: _Reader) -> Iterator[Block]:
    numbered = listed = 0
    for index, token in enumerate(tokens):
        listed += {"list_item_open": 1, "list_item_close": -1}.get(token.type, 0)
        numbered += {"ordered_list_open": 1, "ordered_list_close": -1}.get(token.type, 0)
        if token.map is None or token.map[0] >= keep:
            continue
        line = reader.first + token.map[0]
        if token.type == TABLE:
            yield _table(token, line, bool(reader.prefix) and token.map[0] == 0)
        elif token.type == "inline":
            yield _text(tokens[index - 1], token, line, listed=listed > 0)
        elif token.type in _RAW:
            yield _raw(token, line)
        elif token.type == "list_item_open" and numbered == 1 and token.markup in {".", ")"}:
            yield Numbered(line)


def _table(token: Token, line: int, continued: bool) -> Table:
    rows = token.meta["rows"]
    return Table(token.meta["header"], line, rows, range(line + 2, line + 2 + len(rows)), continued)


def _raw(token: Token, line: int) -> Prose:
    """Return code or raw HTML; a fence that nothing closes, and that so swallows what follows, is an `open fence`."""
    if token.type != "fence" or not token.map:
        return Prose(token.content, line, _RAW[token.type])
    inside = token.content.count("\n") + (token.content[-1:] not in {"", "\n"})
    if token.map[1] - token.map[0] > inside + 1:
        return Prose(token.content, line, "fence")
    return Prose(f"\n{token.content}", line, "open fence")  # the newline stands for the line that opens it


def _text(opening: Token, token: Token, line: int, *, listed: bool) -> Block:
    if opening.type == "heading_open":
        return Heading(int(opening.tag[1:]), token.content, line)
    return Prose(token.content, line, listed=listed)
