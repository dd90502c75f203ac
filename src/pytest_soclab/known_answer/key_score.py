"""The key score: a Markdown file that people write, with the verdict of every item in a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pytest_soclab.base.errors import Fault, KnownAnswerError, quote
from pytest_soclab.known_answer import statements
from pytest_soclab.known_answer.blocks import Heading, Numbered, Prose, Table, newlines, read_blocks, references
from pytest_soclab.known_answer.files import read_bytes, refuse
from pytest_soclab.known_answer.inline import inline_text
from pytest_soclab.known_answer.item_tables import ItemTable, choose, is_item_row, says_item_by_item, stray_row
from pytest_soclab.known_answer.keys import item_key
from pytest_soclab.known_answer.verdicts import ACCEPTED, Verdict, credited, one_spaced, read_verdict, totals


@dataclass(slots=True)
class Section:
    """A heading with those above it; the file itself is the section of no heading.

    `listed` counts the numbered entries right below the heading, `within` those of its subsections too.
    """

    title: str = ""
    level: int = 0
    parent: Section | None = None
    listed: int = 0
    within: int = 0

    def path(self) -> Iterable[Section]:
        """Yield this section and those around it, innermost first."""
        section: Section | None = self
        while section:
            yield section
            section = section.parent

    def titles(self) -> tuple[str, ...]:
        """Return the headings above what stands here, innermost first."""
        return tuple(above.title for above in self.path() if above.level)

    @property
    def names_beyond(self) -> bool:
        """Whether the heading names the facts that the human reports lack."""
        title = self.title.casefold()
        return "beyond" in title or "more than the human" in title


@dataclass(slots=True)
class ItemRow:
    """One item of a key score: its verdict and its row, cells joined as in `blocks.Table`."""

    verdict: Verdict | None
    line: int
    row: str


@dataclass
class _Contents:
    """What a key score holds, in the order of the file."""

    path: str
    labels: frozenset[str]
    tables: list[ItemTable] = field(default_factory=list)
    totals: list[statements.Totals | statements.Unreadable] = field(default_factory=list)
    beyond: list[tuple[int, int, Section]] = field(default_factory=list)  # count, line, section
    naming: list[Section] = field(default_factory=list)  # sections whose heading names the facts beyond
    strays: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class KeyScore:
    """A key score as it was read and checked: items by key, beyond-human count, whether totals were checked."""

    items: dict[str, ItemRow]
    beyond: int | None
    totals_checked: bool
    notes: tuple[str, ...]


def read_key_score(path: str) -> KeyScore:
    """Return the key score at `path`.

    Raises KnownAnswerError, with file and line, when an item or its verdict cannot be read exactly or when the file
    disagrees with its own sentences.
    """
    contents = _contents(path)
    tables, notes = choose(contents.tables, path)
    _refuse_strays(contents, tables)
    items = _items(tables, path)
    checked = _check_totals(contents, items)
    return KeyScore(items, _beyond(contents), checked, notes)


def _contents(path: str) -> _Contents:
    data = newlines(read_bytes(path))
    contents = _Contents(path, references(data))
    section = Section()
    for block in read_blocks(data, path):
        if isinstance(block, Heading):
            section = _enter(section, block, contents)
            _statements(contents, Prose(block.source, block.line), section)
        elif isinstance(block, Numbered):
            _count(section)
        elif isinstance(block, Prose):
            _prose(contents, block, section)
        elif block.continued:
            contents.tables[-1].extend(block)
        else:
            _table(block, section, contents)
    return contents


def _enter(section: Section, heading: Heading, contents: _Contents) -> Section:
    title = one_spaced(inline_text(heading.source, contents.labels))
    parent = next(above for above in section.path() if above.level < heading.level)
    entered = Section(title, heading.level, parent)
    if entered.names_beyond:
        contents.naming.append(entered)
    return entered


def _count(section: Section) -> None:
    section.listed += 1
    for around in section.path():
        around.within += 1


def _table(block: Table, section: Section, contents: _Contents) -> None:
    table = ItemTable(block.header, block.line, section.titles(), contents.labels)
    table.extend(block)
    contents.tables.append(table)
    if is_item_row([table.head(column) for column in range(min(len(table.header), 8))]):
        contents.strays.append((block.line, f"| {' | '.join(block.header)} |"))


def _prose(contents: _Contents, block: Prose, section: Section) -> None:
    if block.kind == "paragraph":
        _statements(contents, block, section)
    if "|" in block.source:
        found = stray_row(block, contents.labels, among_items=says_item_by_item(section.titles()))
        if found:
            contents.strays.append(found)


def _statements(contents: _Contents, block: Prose, section: Section) -> None:
    lowered = block.source.casefold()
    if "totals" in lowered:
        contents.totals += statements.totals_lines(block.source, block.line)
    if "fact" in lowered:
        contents.beyond += [(*stated, section) for stated in statements.beyond_counts(block.source, block.line)]


def _refuse_strays(contents: _Contents, tables: list[ItemTable]) -> None:
    """Refuse rows that fell out of their table, since an item that nobody reads is an item that nobody gates."""
    for line, text in contents.strays:
        refuse(
            f"a row of an item table that stands in no table, or as its head: {quote(text)}",
            contents.path,
            line,
            expected="every item row in its table",
            remedy="close the gap, comment or fence above it, or give it a header and a |---| line",
        )
    if not tables:
        refuse(
            "no item table",
            contents.path,
            expected="a table whose first column holds item labels such as K1.2",
            remedy="is this a score file?",
        )


def _items(tables: list[ItemTable], path: str) -> dict[str, ItemRow]:
    items: dict[str, ItemRow] = {}
    for table in tables:
        column = table.verdict_column(path)
        for line, row in table:
            label = table.cell(row, 0)
            key = _key(label, path, line)
            if key in items:
                first = items[key].line
                found = f"item {quote(key)} twice, first on line {first}"
                refuse(found, path, line, expected="every item once", remedy="drop one of the two rows")
            items[key] = ItemRow(_verdict(label, table.cell(row, column), path, line), line, row)
    return items


def _key(label: str, path: str, line: int) -> str:
    key = item_key(label)
    if not key:
        refuse("a row without an item label", path, line, expected="an item such as K1.2", remedy="name it or drop it")
    return key


def _verdict(label: str, written: str, path: str, line: int) -> Verdict | None:
    try:
        return read_verdict(written)
    except KeyError:
        found = f"item {quote(label)} has the verdict {quote(written)}"
        refuse(found, path, line, expected=ACCEPTED, remedy="put remarks and markers into another column")


def _check_totals(contents: _Contents, items: dict[str, ItemRow]) -> bool:
    counted = totals(item.verdict for item in items.values())
    faults: list[Fault] = []
    for stated in contents.totals:
        if isinstance(stated, statements.Unreadable):
            faults.append(_unreadable(contents.path, stated))
            continue
        for sentence in statements.disagreements(stated, counted, credited(counted), len(items)):
            found = f"the Totals line says {sentence}"
            faults.append(Fault(found, contents.path, stated.line, remedy="correct the line or the table"))
    if faults:
        raise KnownAnswerError(*faults)
    return bool(contents.totals)


def _unreadable(path: str, stated: statements.Unreadable) -> Fault:
    return Fault(
        f"a Totals line that cannot be read: {quote(stated.text)}",
        path,
        stated.line,
        expected="`**Totals:** 35 found / 15 partly (body) / … ; credited 51 of 57`",
        remedy="write numbers and scoring words only",
    )


def _beyond(contents: _Contents) -> int | None:
    """Return the beyond-human count that the file states, checked against its numbered list."""
    for count, line, section in contents.beyond:
        listed = _listed(contents, section)
        if not listed and count:
            refuse(
                f"{count} facts beyond the human reports, but no numbered list of them",
                contents.path,
                line,
                expected=f"a numbered list of {count}",
                remedy="list them under a heading such as `## Beyond the human reports`",
            )
        if listed != count:
            refuse(
                f"{count} facts beyond the human reports, but the numbered list holds {listed}",
                contents.path,
                line,
                expected="one number",
                remedy="correct the sentence or the list",
            )
    return contents.beyond[0][0] if contents.beyond else None


def _listed(contents: _Contents, section: Section) -> int:
    """Return the length of the numbered list that a count in `section` speaks of; 0 where there is none."""
    if not contents.naming:
        return section.listed
    around = [above.within for above in section.path() if above.names_beyond and above.within]
    return around[0] if around else next((named.within for named in contents.naming if named.within), 0)
