"""Which tables of a key score hold its items; what cannot be told is refused, what is left out is named."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_soclab.base.errors import quote
from pytest_soclab.known_answer.basis.files import refuse
from pytest_soclab.known_answer.reading.columns import MOST_SEARCHED
from pytest_soclab.known_answer.reading.item_tables import ItemTable

_NUMBER = re.compile(r"\d+[.)]?")
_ITEMS = re.compile(r"\bitems?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Choice:
    """The item tables, those that are left out and could be taken for one, and a note on each of these."""

    tables: list[ItemTable]
    unread: list[ItemTable]
    notes: tuple[str, ...]


def choose(tables: list[ItemTable], path: str) -> Choice:
    """Return the item tables among all tables of a file, and what is left out.

    Raises KnownAnswerError where it cannot be told which tables hold the items, or which column their labels.
    """
    under = [table for table in tables if table.under_item_by_item]
    chosen = [table for table in under if table.is_item_table()] if under else _without_heading(tables, path)
    legends = _legends(chosen, path)
    chosen = [table for table in chosen if not _in(table, legends)]
    for table in chosen:
        _refuse_numbered(table, path)
    left = [table for table in tables if not _in(table, chosen + legends) and table.might_be_missed()]
    notes = [f"the table on line {table.line} is not read as items" for table in left]
    notes += [f"the table on line {table.line} explains words, it is not read as items" for table in legends]
    return Choice(chosen, [table for table in left if _is_scored(table, under=bool(under))], tuple(notes))


def _in(table: ItemTable, tables: list[ItemTable]) -> bool:
    return any(table is other for other in tables)


def _is_scored(table: ItemTable, *, under: bool) -> bool:
    """Tell whether a table that is left out stands where scored items stand, so that its items would be lost."""
    if table.elsewhere or table.verdicts is None or not under:
        return False
    return table.under_item_by_item or table.names_group or any(map(_ITEMS.search, table.titles[:1]))


def _legends(chosen: list[ItemTable], path: str) -> list[ItemTable]:
    """Return the tables that explain the scoring words: their labels are no items, while those of others are."""
    if not any(table.grouped for table in chosen):
        return []
    alike = [table for table in chosen if table.like_a_legend()]
    for table in alike:
        if not table.says_legend():
            refuse(
                f"the table {quote(' | '.join(table.header))}, which may hold items or explain words",
                path,
                table.line,
                expected="the header `Item` above items, or `Meaning` beside words",
                remedy="head it so, or move it out of the item section",
            )
    return alike


def _refuse_numbered(table: ItemTable, path: str) -> None:
    """Refuse a table whose rows are numbered and whose item labels stand in a later column."""
    if not all(map(_NUMBER.fullmatch, table.labels)):
        return
    for column in range(1, min(len(table.header), MOST_SEARCHED)):
        if all(map(table.vocabulary.has_group, table.column(column))):
            refuse(
                f"item labels in column {column + 1}, {quote(table.head(column))}, behind a column of numbers",
                path,
                table.line,
                expected="the labels in the first column",
                remedy="drop the column of numbers",
            )


def _without_heading(tables: list[ItemTable], path: str) -> list[ItemTable]:
    """Return the one item table of a file, or those of a file that writes one table a group.

    Any further table that scores something is refused: what it holds would be lost.
    """
    able = [table for table in tables if table.may_hold_items()]
    labelled = [table for table in able if table.labelled]
    here = [table for table in labelled if not table.elsewhere] or labelled
    if not here:
        return []
    main = max(here, key=lambda table: (table.labelled, table.verdicts is not None))
    chosen = [main]
    if main.names_group and main.coded:
        chosen = [table for table in here if table is main or (table.names_group and table.coded)]
    for table in able:
        if not _in(table, chosen) and not table.elsewhere and _holds_items(table, main):
            _refuse_second(table, main, path)
    return chosen


def _holds_items(table: ItemTable, main: ItemTable) -> bool:
    """Tell whether a table beside the main one scores something, or lists coded items that the main one lacks."""
    if table.verdicts is None:
        return bool(table.coded) and not table.keys() <= main.keys()
    return not (main.grouped and table.like_a_legend() and table.says_legend())


def _refuse_second(table: ItemTable, main: ItemTable, path: str) -> None:
    refuse(
        f"a second table that scores {len(table.rows)} items, beside the {len(main.rows)} of the table"
        f" on line {main.line}",
        path,
        table.line,
        expected="one item table, or a heading that says which tables hold the items",
        remedy="put the tables of items under a heading `## Item by item`",
    )
