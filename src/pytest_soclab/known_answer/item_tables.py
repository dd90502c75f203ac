"""Which tables of a key score hold its items, and which of their columns holds the run's verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pytest_soclab.base.errors import quote
from pytest_soclab.known_answer.blocks import Prose, Table
from pytest_soclab.known_answer.files import refuse
from pytest_soclab.known_answer.inline import inline_text
from pytest_soclab.known_answer.keys import has_code, has_group, item_key
from pytest_soclab.known_answer.tables import CELL, cells
from pytest_soclab.known_answer.verdicts import ACCEPTED, begins_with_verdict, is_verdict, one_spaced

_ITEM_HEADERS = frozenset({"#", "item", "items", "key", "keys", "key item", "fact", "key fact", "no.", "nr", "id"})
MOST_SEARCHED = 50  # columns among which the verdicts are looked for
_OTHER_HEADERS = frozenset({"group", "groups", "verdict", "word", "total", "totals", "claim", "claims"})
_VERDICT_HEADERS = frozenset({"verdict", "score"})
_ITEM_BY_ITEM = re.compile(r"\bitem[ -]by[ -]item\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+[.)]?")
_NUMBERS = re.compile(r"[\d\s/%.,+–—-]*(?: of \d+)?")


def says_item_by_item(titles: Iterable[str]) -> bool:
    """Tell whether one of these headings says that the items follow."""
    return any(_ITEM_BY_ITEM.search(title) for title in titles)


@dataclass
class ItemTable:
    """A table of the file, its rows with their lines, the headings that it stands under (innermost first)."""

    header: tuple[str, ...]
    line: int
    titles: tuple[str, ...]
    references: frozenset[str]
    rows: list[str] = field(default_factory=list)
    spans: list[tuple[range, int]] = field(default_factory=list)  # lines of rows, index of the first of them

    def extend(self, block: Table) -> None:
        """Take the rows of a block of this table."""
        self.spans.append((block.lines, len(self.rows)))
        self.rows += block.rows

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Yield line and row."""
        for lines, first in self.spans:
            yield from zip(lines, self.rows[first : first + len(lines)], strict=True)

    def cell(self, row: str, column: int) -> str:
        """Return one cell of a row as a reader sees it, empty where the row is shorter."""
        parts = row.split(CELL, column + 1)
        return one_spaced(inline_text(parts[column], self.references)) if column < len(parts) else ""

    def head(self, column: int) -> str:
        """Return one header cell in one case."""
        return one_spaced(inline_text(self.header[column], self.references)).casefold()

    @property
    def under_item_by_item(self) -> bool:
        """Whether a heading that says "Item by item" stands above."""
        return says_item_by_item(self.titles)

    @property
    def headed(self) -> bool:
        """Whether the header says that the first column holds items."""
        return bool(self.header) and self.head(0) in _ITEM_HEADERS

    def labelled(self) -> int:
        """Return how many rows start with an item label."""
        labels = [self.cell(row, 0) for row in self.rows]
        return sum(bool(label) and (self.headed or has_group(label)) for label in labels)

    def coded(self) -> int:
        """Return how many rows start with an item code."""
        return sum(has_code(self.cell(row, 0)) for row in self.rows)

    def grouped(self) -> int:
        """Return how many rows start with a group such as `K9`, with or without an item code."""
        return sum(has_group(self.cell(row, 0)) for row in self.rows)

    def keys(self) -> set[str]:
        """Return the item keys of the rows."""
        return {item_key(self.cell(row, 0)) for row in self.rows}

    def find_verdict_column(self) -> int | None:
        """Return the first column, after the labels, that holds a scoring word; None where no column does.

        A column headed as the verdict, or whose cells open with a scoring word and a remark, is that column even where
        none of its cells is exact, so that a later run's column is not read in its place.
        """
        rows = self.rows
        for column in range(1, min(len(self.header), MOST_SEARCHED)):
            rows = [row for row in rows if row.count(CELL) >= column]
            if self.head(column) in _VERDICT_HEADERS or self._holds_verdict(rows, column):
                return column
        return None

    def _holds_verdict(self, rows: list[str], column: int) -> bool:
        marked = worded = 0
        for row in rows:
            text = self.cell(row, column)
            if is_verdict(text):
                return True
            marked += begins_with_verdict(text, marker=True)
            worded += begins_with_verdict(text, marker=False)
        return marked * 2 > len(self.rows) or worded == len(self.rows) > 1

    def verdict_column(self, path: str) -> int:
        """Return the column of the run's verdicts. Raises KnownAnswerError where there is none."""
        column = self.find_verdict_column()
        if column is None:
            header = " | ".join(self.header)
            refuse(
                f"the item table {quote(header)} without a verdict column",
                path,
                self.line,
                expected=f"a column whose cells are {ACCEPTED}",
                remedy="add the column, or move the table out of the item section",
            )
        return column

    def is_item_table(self) -> bool:
        """Tell whether a table under "Item by item" holds items: labelled rows, or a label beside a full verdict."""
        if not self.may_hold_items():
            return False
        if self.find_verdict_column() is not None:
            return bool(self.labelled()) or not is_verdict(self.cell(self.rows[0], 0))
        return bool(self.coded() or self.headed)

    def might_be_missed(self) -> bool:
        """Tell whether somebody could take the table for an item table, where it is none."""
        if self.coded():
            return True
        return bool(self.under_item_by_item or self.grouped()) and self.find_verdict_column() is not None

    def may_hold_items(self) -> bool:
        """Tell whether the table is none of those that never hold items: totals a group, words, bare numbers."""
        if not self.rows or len(self.header) < 2 or (self.head(0) in _OTHER_HEADERS and not self.coded()):
            return False
        return not all(_NUMBERS.fullmatch(cell) for row in self.rows for cell in row.split(CELL)[1:])


def choose(tables: list[ItemTable], path: str) -> tuple[list[ItemTable], tuple[str, ...]]:
    """Return the item tables among all tables of a file, and a note for each labelled table that is left out.

    Raises KnownAnswerError where it cannot be told which tables hold the items, or which column their labels.
    """
    under = [table for table in tables if table.under_item_by_item]
    chosen = [table for table in under if table.is_item_table()] if under else _largest(tables, path)
    for table in chosen:
        _refuse_numbered(table, path)
    taken = {id(table) for table in chosen}
    left = [table for table in tables if id(table) not in taken and table.might_be_missed()]
    return chosen, tuple(f"the table on line {table.line} is not read as items" for table in left)


def _refuse_numbered(table: ItemTable, path: str) -> None:
    """Refuse a table whose rows are numbered and whose item labels stand in a later column."""
    if not all(_NUMBER.fullmatch(table.cell(row, 0)) for row in table.rows):
        return
    for column in range(1, min(len(table.header), MOST_SEARCHED)):
        if all(has_group(table.cell(row, column)) for row in table.rows):
            refuse(
                f"item labels in column {column + 1}, {quote(table.head(column))}, behind a column of numbers",
                path,
                table.line,
                expected="the labels in the first column",
                remedy="drop the column of numbers",
            )


def _largest(tables: list[ItemTable], path: str) -> list[ItemTable]:
    """Return the table with most labelled rows, with its fellows where one table a group is written.

    Tables of numbers are no candidates; among equals, one with a verdict column goes first. Two such with not one item
    in common are halves of a table rather than a table and something else: none of them is picked.
    """
    labelled = [table for table in tables if table.may_hold_items() and table.labelled()]
    if not labelled:
        return []
    main = max(labelled, key=_fitness)
    if not _names_group(main):
        _refuse_halves(main, labelled, path)
        return [main]
    return [table for table in labelled if table is main or _names_group(table)]


def _fitness(table: ItemTable) -> tuple[int, bool]:
    return table.labelled(), table.find_verdict_column() is not None


def _refuse_halves(main: ItemTable, labelled: list[ItemTable], path: str) -> None:
    for table in labelled:
        if table is not main and _fitness(table) == _fitness(main) and not table.keys() & main.keys():
            refuse(
                f"two tables with {main.labelled()} items each, the other on line {main.line}",
                path,
                table.line,
                expected="one item table, or a heading that says which tables hold the items",
                remedy="put them under a heading `## Item by item`",
            )


def _names_group(table: ItemTable) -> bool:
    """Tell whether the heading above a table names the group of its items, as where one table a group is written."""
    return bool(table.titles) and has_group(table.titles[0].removeprefix("Group ")) and table.coded() > 0


def stray_row(block: Prose, references: frozenset[str], *, among_items: bool) -> tuple[int, str] | None:
    """Return line and text of the first line of prose that is an item row, with a label and a verdict in its cells.

    The label starts with a group; `among_items`, under "Item by item", a line with its pipes may have any label. A
    closed fence or comment is read as nothing, one that is left open has swallowed what follows.
    """
    if block.kind == "fence" or (block.source.startswith("<!--") and "-->" in block.source):
        return None
    for number, line in enumerate(block.source.split("\n")):
        if "|" not in line:
            continue
        texts = [one_spaced(inline_text(cell, references)) for cell in cells(line.strip())[:8]]
        if is_item_row(texts) or (among_items and line.strip()[0] == "|" and has_verdict(texts)):
            return block.line + number, one_spaced(line)
    return None


def is_item_row(texts: list[str]) -> bool:
    """Tell whether cells are an item's: a label that starts with a group, and a verdict."""
    return bool(texts) and has_group(texts[0]) and has_verdict(texts)


def has_verdict(texts: list[str]) -> bool:
    """Tell whether cells hold a verdict behind their first."""
    return any(is_verdict(text) for text in texts[1:])
