"""A table of a key score: its rows with their lines, what its labels are, what stands above it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from pytest_soclab.known_answer.basis.keys import LabelError, item_key
from pytest_soclab.known_answer.basis.verdicts import one_spaced
from pytest_soclab.known_answer.basis.vocabulary import Vocabulary
from pytest_soclab.known_answer.markdown.blocks import Table
from pytest_soclab.known_answer.markdown.inline import inline_text
from pytest_soclab.known_answer.markdown.tables import CELL
from pytest_soclab.known_answer.reading.columns import find_verdict_column

ITEM_HEADERS = frozenset({"#", "item", "items", "key", "keys", "key item", "fact", "key fact", "no.", "nr", "id"})
_OTHER_HEADERS = frozenset({"group", "groups", "verdict", "word", "total", "totals", "claim", "claims"})
_ITEM_BY_ITEM = re.compile(r"\bitem[ -]by[ -]item\b", re.IGNORECASE)
_ELSEWHERE = re.compile(
    r"\b(?:claims?|reverse|beyond|legend|previous|earlier|totals?|comparison|rubric|examples?|scoring words)\b"
    r"|more than the human",
    re.IGNORECASE,
)
_LEGEND = re.compile(
    r"\b(?:legend|meanings?|means?|scale|scoring words?|rubric|definitions?|when|if|how|what|criteri(?:on|a))\b",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"[\d\s/%.,+–—-]*(?: of \d+)?")


def says_item_by_item(titles: Iterable[str]) -> bool:
    """Tell whether one of these headings says that the items follow."""
    return any(_ITEM_BY_ITEM.search(title) for title in titles)


def says_elsewhere(titles: Iterable[str]) -> bool:
    """Tell whether one of these headings says that what follows is no scored item of this run."""
    return any(_ELSEWHERE.search(title) for title in titles)


@dataclass
class ItemTable:
    """A table of the file, its rows with their lines, the headings that it stands under (innermost first)."""

    header: tuple[str, ...]
    line: int
    titles: tuple[str, ...]
    references: frozenset[str]
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
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

    def column(self, column: int) -> Iterator[str]:
        """Yield the cells of one column as a reader sees them."""
        return (self.cell(row, column) for row in self.rows)

    def title(self, column: int) -> str:
        """Return one header cell as a reader sees it."""
        return one_spaced(inline_text(self.header[column], self.references))

    def head(self, column: int) -> str:
        """Return one header cell in one case."""
        return self.title(column).casefold()

    @property
    def under_item_by_item(self) -> bool:
        """Whether a heading that says "Item by item" stands above."""
        return says_item_by_item(self.titles)

    @property
    def elsewhere(self) -> bool:
        """Whether a heading or a header says that the table holds no scored items of this run."""
        return says_elsewhere(self.titles) or any("claim" in self.head(n) for n in range(min(len(self.header), 8)))

    @property
    def headed(self) -> bool:
        """Whether the header says that the first column holds items."""
        return bool(self.header) and self.head(0) in ITEM_HEADERS

    @property
    def names_group(self) -> bool:
        """Whether the heading above names the group of the items, as where one table a group is written."""
        return bool(self.titles) and self.vocabulary.has_group(self.titles[0].removeprefix("Group "))

    @cached_property
    def labels(self) -> list[str]:
        """The first cell of every row; asked for only when the table is whole."""
        return list(self.column(0))

    @cached_property
    def labelled(self) -> int:
        """How many rows start with an item label."""
        return sum(bool(label) and (self.headed or self.vocabulary.has_group(label)) for label in self.labels)

    @cached_property
    def coded(self) -> int:
        """How many rows start with an item code."""
        return sum(map(self.vocabulary.has_code, self.labels))

    @cached_property
    def grouped(self) -> int:
        """How many rows start with a group such as `K9`, with or without an item code."""
        return sum(map(self.vocabulary.has_group, self.labels))

    @cached_property
    def verdicts(self) -> int | None:
        """The column of the verdicts, None where there is none."""
        return find_verdict_column(self)

    def keys(self) -> set[str]:
        """Return the item keys of the rows."""
        found: set[str] = set()
        for label in self.labels:
            try:
                found.update(self.vocabulary.keys(label))
            except LabelError:
                found.add(item_key(label))
        return found

    def is_item_table(self) -> bool:
        """Tell whether a table under "Item by item" holds items: labelled rows, or a label beside a full verdict."""
        if not self.may_hold_items():
            return False
        if self.verdicts is not None:
            return bool(self.labelled) or not self.vocabulary.knows(self.labels[0])
        return bool(self.coded or self.headed)

    def might_be_missed(self) -> bool:
        """Tell whether somebody could take the table for an item table, where it is none."""
        if self.coded:
            return True
        return bool(self.under_item_by_item or self.grouped) and self.verdicts is not None

    def may_hold_items(self) -> bool:
        """Tell whether the table is none of those that never hold items: totals a group, words, bare numbers."""
        if not self.rows or len(self.header) < 2 or (self.head(0) in _OTHER_HEADERS and not self.coded):
            return False
        return not all(_NUMBERS.fullmatch(cell) for row in self.rows for cell in row.split(CELL)[1:])

    def like_a_legend(self) -> bool:
        """Tell whether the rows could explain the scoring words: labels without a group, each word once."""
        if self.grouped or self.headed or self.verdicts is None or len(self.rows) < 2:
            return False
        words = [cell.casefold() for cell in self.column(self.verdicts)]
        return len(set(words)) == len(words) and all(map(self.vocabulary.knows, words))

    def says_legend(self) -> bool:
        """Tell whether heading or header say that the table explains words."""
        heads = [self.head(column) for column in range(min(len(self.header), 8))]
        return any(map(_LEGEND.search, [*self.titles[:1], *heads]))
