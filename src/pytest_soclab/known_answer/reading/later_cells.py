"""Items in cells behind the first: rows that were glued to one line, and second pairs of item columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set

from pytest_soclab.base.errors import Fault
from pytest_soclab.known_answer.basis.keys import LabelError, item_key
from pytest_soclab.known_answer.basis.verdicts import one_spaced
from pytest_soclab.known_answer.basis.vocabulary import Vocabulary
from pytest_soclab.known_answer.markdown.inline import inline_text
from pytest_soclab.known_answer.markdown.tables import CELL
from pytest_soclab.known_answer.reading.columns import MOST_SEARCHED
from pytest_soclab.known_answer.reading.item_tables import ITEM_HEADERS, ItemTable
from pytest_soclab.known_answer.reading.unread import unread_fault

_CHEAP = re.compile(r"K\s?\d", re.IGNORECASE)


def later_items(tables: Iterable[ItemTable], items: Set[str], path: str) -> Iterator[Fault]:
    """Yield a fault for every item that stands in a later cell of an item table and is scored nowhere."""
    for table in tables:
        column = _second_labels(table)
        if column is not None:
            found = f"item labels in column {column + 1} too"
            yield unread_fault(path, table.line, found, " | ".join(table.header))
        for line, row in table:
            if CELL in row and (found := _lost_in(row, table, items)):
                yield unread_fault(path, line, found, " | ".join(row.split(CELL)))


def _second_labels(table: ItemTable) -> int | None:
    """Return the column, behind the verdicts, that is headed as items and has verdicts behind it; None without one."""
    first = len(table.header) if table.verdicts is None else table.verdicts + 1
    for column in range(first, min(len(table.header), MOST_SEARCHED) - 1):
        if table.head(column) in ITEM_HEADERS and any(map(table.vocabulary.knows, table.column(column + 1))):
            return column
    return None


def _lost_in(row: str, table: ItemTable, items: Set[str]) -> str:
    """Return what is wrong with a row in words, empty where nothing of it is lost."""
    cells = row.split(CELL)
    surplus = [one_spaced(inline_text(cell, table.references)) for cell in cells[len(table.header) :]]
    if any(map(table.vocabulary.knows, surplus)):
        return f"a verdict in a row of {len(cells)} cells under a header of {len(table.header)}"
    if table.vocabulary.pattern is None:
        for cell in cells[1:]:
            if _CHEAP.search(cell) and not _keys(cell, table) <= items:
                return "an item label in a later cell"
    return ""


def _keys(cell: str, table: ItemTable) -> set[str]:
    """Return the keys of the items that a cell names at its start."""
    text = one_spaced(inline_text(cell, table.references))
    return _named(text, table.vocabulary) if table.vocabulary.has_code(text) else set()


def _named(text: str, vocabulary: Vocabulary) -> set[str]:
    try:
        return set(vocabulary.keys(text))
    except LabelError:
        return {item_key(text)}
