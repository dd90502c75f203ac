"""The key score: a Markdown file that people write, with the verdict of every item in a table."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from typing import NamedTuple

from pytest_soclab.base.errors import Fault, KnownAnswerError, quote
from pytest_soclab.known_answer.basis.faults import Faults
from pytest_soclab.known_answer.basis.files import read_bytes, refuse
from pytest_soclab.known_answer.basis.keys import LabelError, mentioned_keys
from pytest_soclab.known_answer.basis.run import ItemRow
from pytest_soclab.known_answer.basis.verdicts import Verdict, one_spaced
from pytest_soclab.known_answer.basis.vocabulary import Vocabulary
from pytest_soclab.known_answer.markdown.blocks import (
    Heading,
    Numbered,
    Prose,
    Table,
    newlines,
    read_blocks,
    references,
)
from pytest_soclab.known_answer.markdown.inline import inline_text
from pytest_soclab.known_answer.reading import beyond, statements
from pytest_soclab.known_answer.reading.beyond import Section
from pytest_soclab.known_answer.reading.choosing import Choice, choose
from pytest_soclab.known_answer.reading.columns import verdict_column
from pytest_soclab.known_answer.reading.item_tables import ItemTable, says_item_by_item
from pytest_soclab.known_answer.reading.later_cells import later_items
from pytest_soclab.known_answer.reading.totals import Ledger, Names, Placed, check_totals
from pytest_soclab.known_answer.reading.unread import Unread, is_item_row, lost, stray_row, unread_fault, unread_lines

MOST_ROWS = 500_000
"""How many rows the tables of one file may have: a file of 50 MB with rows of ordinary length has fewer."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a score is read: the meaning of words and labels, and whether what is not read may stay so."""

    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    allow_unread: bool = False


@dataclass
class _Contents:
    """What a key score holds, in the order of the file."""

    path: str
    labels: frozenset[str]
    vocabulary: Vocabulary
    title: str = ""
    tables: list[ItemTable] = field(default_factory=list)
    totals: list[Placed] = field(default_factory=list)
    beyond: list[beyond.Stated] = field(default_factory=list)
    naming: list[Section] = field(default_factory=list)  # sections whose heading names the facts beyond
    strays: list[tuple[int, str]] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    rows: int = 0

    def count(self, block: Table) -> None:
        """Count the rows of a table. Raises KnownAnswerError beyond the most that are read."""
        self.rows += len(block.rows)
        if self.rows > MOST_ROWS:
            found = f"more than {MOST_ROWS} rows of tables"
            refuse(found, self.path, block.line, expected=f"at most {MOST_ROWS} rows a file")


@dataclass(frozen=True, slots=True)
class KeyScore:
    """A key score as it was read and checked: items by key, beyond-human count, whether totals were checked."""

    items: dict[str, ItemRow]
    beyond: int | None
    totals_checked: bool
    notes: tuple[str, ...]


def read_key_score(path: str, reading: Reading | None = None, data: bytes | None = None) -> KeyScore:
    """Return the key score at `path`; `data` are its bytes where they are known.

    Raises KnownAnswerError, with file and line of every fault, when an item or its verdict cannot be read exactly, when
    something that looks like an item is not read, or when the file disagrees with its own sentences.
    """
    reading = reading or Reading()
    contents = _contents(path, read_bytes(path) if data is None else data, reading.vocabulary)
    faults = Faults(path)
    choice = Choice([], [], ())
    with faults.gather():
        choice = choose(contents.tables, path)
    if not faults.found:
        _strays(contents, choice.tables, faults)
    items = _Items()
    for table in choice.tables:
        with faults.gather():
            _items(table, verdict_column(table, path), items, faults)
    notes = [*choice.notes, *_unread(contents, choice, items.named, reading, faults)] if choice.tables else []
    stated = None
    with faults.gather():
        stated = beyond.check(contents.beyond, contents.naming, path)
    ledger = _totals(contents, choice.tables, items.read, faults)
    faults.settle()
    return KeyScore(items.read, stated, ledger.checked, (*notes, *ledger.notes))


def _contents(path: str, data: bytes, vocabulary: Vocabulary) -> _Contents:
    data = newlines(data)
    contents = _Contents(path, references(data), vocabulary)
    section = Section()
    for block in read_blocks(data, path):
        if isinstance(block, Heading):
            section = _enter(section, block, contents)
            _statements(contents, Prose(block.source, block.line), section, heading=True)
            contents.unread += unread_lines(block, section.titles(), vocabulary)
        elif isinstance(block, Numbered):
            section.count()
        elif isinstance(block, Prose):
            _prose(contents, block, section)
        else:
            _table(block, section, contents)
    return contents


def _enter(section: Section, heading: Heading, contents: _Contents) -> Section:
    title = one_spaced(inline_text(heading.source, contents.labels))
    parent = next(above for above in section.path() if above.level < heading.level)
    entered = Section(title, heading.level, parent)
    if heading.level == 1 and not contents.title:
        contents.title = title
    if entered.names_beyond:
        contents.naming.append(entered)
    return entered


def _table(block: Table, section: Section, contents: _Contents) -> None:
    contents.count(block)
    if block.continued:
        contents.tables[-1].extend(block)
        return
    table = ItemTable(block.header, block.line, section.titles(), contents.labels, contents.vocabulary)
    table.extend(block)
    contents.tables.append(table)
    heads = [table.head(column) for column in range(min(len(table.header), 8))]
    if is_item_row(heads, contents.vocabulary):
        contents.strays.append((block.line, f"| {' | '.join(block.header)} |"))


def _prose(contents: _Contents, block: Prose, section: Section) -> None:
    if block.kind == "paragraph":
        _statements(contents, block, section)
    titles = section.titles()
    if "|" in block.source:
        among = says_item_by_item(titles)
        found = stray_row(block, contents.labels, contents.vocabulary, among_items=among)
        if found:
            contents.strays.append(found)
    contents.unread += unread_lines(block, titles, contents.vocabulary)


_TOTAL_WORDS = ("total", "found", "missed", "overall", "sum", "tally", "credited", "wrong")


def _statements(contents: _Contents, block: Prose, section: Section, *, heading: bool = False) -> None:
    lowered = block.source.casefold()
    if any(word in lowered for word in _TOTAL_WORDS):
        stated = statements.totals_lines(block.source, block.line, heading=heading)
        contents.totals += [Placed(one, section.titles()) for one in stated]
    if "fact" in lowered:
        counts = statements.beyond_counts(block.source, block.line)
        contents.beyond += [beyond.Stated(count, line, section) for count, line in counts]


def _strays(contents: _Contents, tables: list[ItemTable], faults: Faults) -> None:
    """Name rows that fell out of their table, since an item that nobody reads is an item that nobody gates."""
    for line, text in contents.strays:
        faults.add(
            Fault(
                f"a row of an item table that stands in no table, or as its head: {quote(text)}",
                contents.path,
                line,
                expected="every item row in its table",
                remedy="close the gap, comment or fence above it, or give it a header and a |---| line",
            )
        )
    if not tables and not contents.strays:
        faults.add(
            Fault(
                "no item table",
                contents.path,
                expected="a table whose first column holds item labels such as K1.2",
                remedy="is this a score file?",
            )
        )


@dataclass
class _Items:
    """The items of a file by key, and the keys of the rows whose verdict is bad."""

    read: dict[str, ItemRow] = field(default_factory=dict)
    bad: set[str] = field(default_factory=set)

    @property
    def named(self) -> Set[str]:
        """Every key that a row names, be its verdict bad."""
        return self.read.keys() | self.bad if self.bad else self.read.keys()


def _items(table: ItemTable, column: int, items: _Items, faults: Faults) -> None:
    head = table.title(column)
    for (line, row), label in zip(table, table.labels, strict=True):
        try:  # no `gather`, which would make a context for each row
            keys = _keys(label, table.vocabulary, faults.path, line)
            items.bad.update(keys)
            verdict = _verdict(label, table.cell(row, column), head, table.vocabulary, Place(faults.path, line))
            items.bad.difference_update(keys)
            for key in keys:
                _add(items.read, key, ItemRow(verdict, line, row), faults.path)
        except KnownAnswerError as error:
            faults.take(error)


def _add(items: dict[str, ItemRow], key: str, row: ItemRow, path: str) -> None:
    if key in items:
        found = f"item {quote(key)} twice, first on line {items[key].line}"
        refuse(found, path, row.line, expected="every item once", remedy="drop one of the two rows")
    items[key] = row


def _keys(label: str, vocabulary: Vocabulary, path: str, line: int) -> tuple[str, ...]:
    try:
        keys = vocabulary.keys(label)
    except LabelError as error:
        found = f"the label {quote(label)}: {error}"
        refuse(found, path, line, expected="every code in full, such as K2.6 / K5.3", remedy="write a row an item")
    if not all(keys):
        refuse("a row without an item label", path, line, expected="an item such as K1.2", remedy="name it or drop it")
    return keys


class Place(NamedTuple):
    """A line of a file."""

    path: str
    line: int


def _verdict(label: str, written: str, head: str, vocabulary: Vocabulary, place: Place) -> Verdict | None:
    try:
        return vocabulary.read(written)
    except KeyError:
        found = f"item {quote(label)} has the verdict {quote(written)} in the column {quote(head)}"
        refuse(found, *place, expected=vocabulary.accepted, remedy="put remarks and markers into another column")


def _unread(contents: _Contents, choice: Choice, items: Set[str], reading: Reading, faults: Faults) -> list[str]:
    """Take in a fault for everything that may be an item and is not read, or return it as notes where allowed."""
    under = any(table.under_item_by_item for table in choice.tables)
    found = [
        unread_fault(contents.path, line.line, "a line", line.text)
        for line in lost(contents.unread, items, contents.vocabulary, under=under)
    ]
    for table in choice.unread:
        if not table.keys() <= items:
            found.append(unread_fault(contents.path, table.line, "a table", " | ".join(table.header)))
    found += later_items(choice.tables, items, contents.path)
    if contents.vocabulary.pattern is None:
        found += _mentions(choice.tables, items, contents.path)
    if reading.allow_unread:
        return [f"line {fault.line}: {fault.found}" for fault in found]
    for fault in found:
        faults.add(fault)
    return []


def _mentions(tables: list[ItemTable], items: Set[str], path: str) -> list[Fault]:
    """Return a fault for every code inside a label whose item is scored nowhere."""
    found = []
    for table in tables:
        for (line, _), label in zip(table, table.labels, strict=True):
            mentioned = mentioned_keys(label) if table.vocabulary.has_code(label) else ()
            found += [
                unread_fault(path, line, f"the code {key} in a label", label) for key in mentioned if key not in items
            ]
    return found


def _totals(contents: _Contents, tables: list[ItemTable], items: dict[str, ItemRow], faults: Faults) -> Ledger:
    """Check all totals; where the items themselves have faults, only what cannot be read as totals is named."""
    others = [table for table in contents.tables if not any(table is chosen for chosen in tables)]
    verdicts = {key: item.verdict for key, item in items.items()}
    names = Names.of(contents.path, contents.title, tables)
    ledger = check_totals(contents.totals, others, verdicts, names, contents.path)
    broken = faults.count and not all("not read as an item" in fault.found for fault in faults.found)
    for fault in ledger.faults:
        if not broken or "cannot be read" in fault.found:
            faults.add(fault)
    return ledger
