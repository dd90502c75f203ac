"""A frugal form of markdown-it-py's GFM table: the same grammar, one token a table in place of three a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markdown_it.rules_block.table import escapedSplit, table

from pytest_soclab.known_answer.basis.files import refuse

if TYPE_CHECKING:
    from markdown_it.rules_block import StateBlock

TABLE = "soclab_table"
CELL = "\0"  # joins the cells of a row; markdown-it-py has replaced every NUL of the file before
MOST_COLUMNS = 1000


def compact_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read the table that starts at line `start` of `state`, as markdown-it-py's own rule recognises it.

    The head is judged by that rule and rows are split by its splitter. Rows keep the cells that they have, so a ragged
    row is neither padded nor cut. Pushes one token whose `meta` holds `header` (tuple of cells), `rows` (cells joined
    by `CELL`) and whose `map` spans the table, one line a row after the two of the head.
    """
    if start + 2 > end or "-" not in _line(state, start + 1) or "|" not in _line(state, start):
        return False
    if not table(state, start, end, True) or silent:
        return silent and table(state, start, end, True)
    header = cells(_line(state, start))
    if len(header) > MOST_COLUMNS:
        line = state.env["first"] + start
        refuse(f"a table of {len(header)} columns", state.env["path"], line, expected=f"at most {MOST_COLUMNS}")
    token = state.push(TABLE, "", 0)
    token.meta = {"header": tuple(header), "rows": _rows(state, start + 2, end)}
    state.line = start + 2 + len(token.meta["rows"])
    token.map = [start, state.line]
    return True


def cells(line: str) -> list[str]:
    """Return the cells of a table line, trimmed, with escaped pipes as pipes."""
    split = escapedSplit(line) if "\\|" in line else line.split("|")
    if split and not split[0]:
        split.pop(0)
    if split and not split[-1]:
        split.pop()
    return [cell.strip() for cell in split]


def _rows(state: StateBlock, start: int, end: int) -> list[str]:
    enders = state.md.block.ruler.getRules("blockquote")
    parent, state.parentType = state.parentType, "table"
    rows: list[str] = []
    for number in range(start, end):
        if state.sCount[number] < state.blkIndent or state.is_code_block(number):
            break
        line = _line(state, number)
        if not line:
            break
        if line[0] != "|" and any(ends(state, number, end, True) for ends in enders):  # no block opens with a pipe
            break
        rows.append(CELL.join(cells(line)))
    state.parentType = parent
    return rows


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]].strip(" \t")
