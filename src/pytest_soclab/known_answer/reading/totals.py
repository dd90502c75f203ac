"""Every total that a score file states, against its items: of the whole run, of a group, in a line or a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from pytest_soclab.base.errors import Fault, quote
from pytest_soclab.known_answer.basis.keys import group_of
from pytest_soclab.known_answer.basis.verdicts import (
    UNKNOWN,
    Verdict,
    credited,
    is_verdict,
    one_spaced,
    read_verdict,
    totals,
    word,
)
from pytest_soclab.known_answer.reading.item_tables import ItemTable, says_elsewhere
from pytest_soclab.known_answer.reading.statements import PARTLY, Stated, Totals, Unreadable

_ALL = re.compile(r"(?:all|totals?|sum|overall|together|in all|grand total|whole|Σ)\b(?P<rest>.*)", re.IGNORECASE)
_ITEMS = frozenset({"items", "item", "n", "count", "total", "of", "all", "facts", "sum"})
_GENERIC = frozenset({"verdict", "score", "verdicts", "scores", "v", "result", "run", "this run", "candidate"})
_COUNT = re.compile(r"(\d{1,9})(?:\s*(?:/|of)\s*(\d{1,9}))?", re.ASCII)
_RUN_LIKE = re.compile(r"\b[a-z]+[-_ ]?\d+\b", re.IGNORECASE)
_TITLE = re.compile(r"\b(?:totals?|score|summary)\b\s*(?:[:–—-]|for|of)?\s*(?P<who>.*)", re.IGNORECASE)
_PLAIN = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Placed:
    """A statement with the headings that it stands under, innermost first."""

    stated: Stated
    titles: tuple[str, ...]


@dataclass
class Ledger:
    """What the checks of one file found: faults, notes on what was not checked, whether the whole run was."""

    path: str
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    checked: bool = False

    def skip(self, line: int, text: str, why: str = "") -> None:
        """Note totals that are not checked."""
        self.notes.append(f"line {line}: totals that are not checked{why}: {quote(text)}")


@dataclass(frozen=True, slots=True)
class Names:
    """The names by which totals may speak of this run, and those of other runs in the file."""

    own: frozenset[str]
    others: frozenset[str]
    title: str
    folder: str
    strong: bool

    @classmethod
    def of(cls, path: str, title: str, tables: Iterable[ItemTable]) -> Names:
        """Return the names that the file's title, its folder and the headers of its item tables give."""
        own: set[str] = set()
        others: set[str] = set()
        for table in tables:
            column = table.verdicts
            if column is not None:
                own.add(table.head(column))
                others |= {table.head(later) for later in range(column + 1, len(table.header))}
        own = {_bare(name) for name in own - _GENERIC}
        folder = _bare(Path(path).absolute().parent.name)
        strong = bool(own) or _RUN_LIKE.search(title) is not None
        return cls(frozenset(own), frozenset(map(_bare, others)) - own, _bare(title), folder, strong)

    def is_own(self, name: str) -> bool:
        """Tell whether a name in totals is this run's; one that nothing tells apart is."""
        bare = _bare(name)
        if bare in self.own or (bare and bare in self.title) or bare == self.folder:
            return True
        return bare not in self.others and not self.strong

    def knows(self, name: str) -> bool:
        """Tell whether a name is certainly a run's, this one or another."""
        bare = _bare(name)
        return bare in self.own | self.others | {self.folder} or bool(bare and self.strong and bare in self.title)


def _bare(name: str) -> str:
    return _PLAIN.sub("", name.casefold())


Verdicts: TypeAlias = Mapping[str, Verdict | None]


def check_totals(
    placed: Iterable[Placed],
    tables: Iterable[ItemTable],
    verdicts: Verdicts,
    names: Names,
    path: str,
) -> Ledger:
    """Check every stated total of a file against its items; return faults, notes and whether the whole was checked."""
    ledger = Ledger(path)
    for entry in placed:
        if isinstance(entry.stated, Unreadable):
            _unreadable(entry.stated, ledger)
        else:
            _statement(entry.stated, entry.titles, verdicts, names, ledger)
    for table in tables:
        _table(table, verdicts, names, ledger)
    return ledger


def _unreadable(stated: Unreadable, ledger: Ledger) -> None:
    if not stated.refused:
        ledger.skip(stated.line, stated.text)
        return
    ledger.faults.append(
        Fault(
            f"a Totals line that cannot be read: {quote(stated.text)}",
            ledger.path,
            stated.line,
            expected="`**Totals:** 35 found / 15 partly (body) / … ; credited 51 of 57`",
            remedy="write numbers and scoring words only",
        )
    )


def _statement(stated: Totals, titles: tuple[str, ...], verdicts: Verdicts, names: Names, ledger: Ledger) -> None:
    who = stated.who or _from_title(titles)
    groups = re.findall(r"\bK\d+\b", who, re.IGNORECASE)
    if len(groups) > 1 or (not stated.who and says_elsewhere(titles) and not _about_totals(titles)):
        ledger.skip(stated.line, who or titles[0])
    elif group := group_of(who.removeprefix("Group ")):
        _compare(stated, _group(verdicts, {group}), ledger, f"of {group} ")
    elif who and not names.is_own(who):
        ledger.skip(stated.line, who, ", of another run")
    else:
        ledger.checked = True
        _compare(stated, verdicts, ledger, "")


def _about_totals(titles: tuple[str, ...]) -> bool:
    return bool(titles) and re.search(r"\btotals?\b", titles[0], re.IGNORECASE) is not None


def _from_title(titles: tuple[str, ...]) -> str:
    """Return the run or group that the innermost heading names, empty where it names none."""
    if not titles:
        return ""
    title = titles[0].removeprefix("Group ")
    if group_of(title):
        return title
    named = _TITLE.search(title)
    who = named["who"].strip(" ()") if named else ""
    return who if _RUN_LIKE.fullmatch(who) else ""


def _group(verdicts: Verdicts, groups: set[str]) -> dict[str, Verdict | None]:
    return {key: verdict for key, verdict in verdicts.items() if group_of(key) in groups}


def _compare(stated: Totals, verdicts: Verdicts, ledger: Ledger, of: str) -> None:
    for sentence in disagreements(stated, verdicts):
        found = f"{stated.place} {of}says {sentence}"
        ledger.faults.append(Fault(found, ledger.path, stated.line, remedy="correct the line or the table"))


def disagreements(stated: Totals, verdicts: Verdicts) -> Iterator[str]:
    """Yield what totals say other than the item table, one sentence each with both numbers."""
    counted = totals(verdicts.values())
    both = counted[Verdict.PARTLY_BODY.value] + counted[Verdict.PARTLY_DUMP.value]
    if PARTLY in stated.counts:
        counted = {PARTLY: both, **{name: n for name, n in counted.items() if not name.startswith(PARTLY)}}
    for name, number in counted.items():
        if (name in stated.counts or (stated.whole and name != UNKNOWN)) and stated.counts.get(name, 0) != number:
            yield f"{stated.counts.get(name, 0)} {name}, the item table holds {number}"
    reached = credited(totals(verdicts.values()))
    if stated.credited and stated.credited != (reached, len(verdicts)):
        said = stated.credited
        yield f"credited {said[0]} of {said[1]}, the item table gives credited {reached} of {len(verdicts)}"
    if stated.credits is not None and stated.credits != reached:
        yield f"{stated.credits} credited, the item table gives {reached}"
    if stated.items is not None and stated.items != len(verdicts):
        yield f"{stated.items} items, the item table holds {len(verdicts)}"


def _table(table: ItemTable, verdicts: Verdicts, names: Names, ledger: Ledger) -> None:
    """Check a table of totals: one row a group or run under headers of words, or one row a word."""
    heads = [table.head(column) for column in range(min(len(table.header), 50))]
    if sum(is_verdict(head) or head == "credited" for head in heads[1:]) > 1:
        _rows(table, heads, verdicts, names, ledger)
    elif table.labels and len(heads) > 1 and sum(map(is_verdict, table.labels)) > 1:
        _words(table, heads, verdicts, names, ledger)


def _words(table: ItemTable, heads: list[str], verdicts: Verdicts, names: Names, ledger: Ledger) -> None:
    columns = [n for n in range(1, len(heads)) if all(_COUNT.fullmatch(cell) for cell in table.column(n))]
    if len(columns) > 1:
        columns = [n for n in columns if names.knows(heads[n]) and names.is_own(heads[n])]
    if len(columns) != 1:
        if any(re.search(r"\d", cell) for n in range(1, len(heads)) for cell in table.column(n)):
            ledger.skip(table.line, " | ".join(table.header))
        return
    cells = list(table.column(columns[0]))
    found = {label.casefold(): cell for label, cell in zip(table.labels, cells, strict=True) if is_verdict(label)}
    stated = _stated(list(found), list(found.values()), table.line, "the table of totals")
    _statement(stated, table.titles, verdicts, names, ledger) if stated else ledger.skip(table.line, table.header[0])


def _rows(table: ItemTable, heads: list[str], verdicts: Verdicts, names: Names, ledger: Ledger) -> None:
    times = Counter(group_of(label) for label in table.labels)
    plain_all = any(_is_plain_all(label) for label in table.labels)
    seen: set[str] = set()
    for line, row in table:
        label = table.cell(row, 0)
        cells = [table.cell(row, column) for column in range(1, len(heads))]
        stated = _stated(heads[1:], cells, line, f"the row {quote(label)}")
        group = group_of(label)
        if stated is None or (group and (times[group] > 1 or len(re.findall(r"\bK\d+\b", label, re.IGNORECASE)) > 1)):
            ledger.skip(line, label)
        elif group:
            seen.add(group)
            _compare(stated, _group(verdicts, {group}), ledger, "")
        elif _ALL.fullmatch(label) and (_is_plain_all(label) or not plain_all):
            whole = _is_plain_all(label) or not seen
            ledger.checked = True
            _compare(stated, verdicts if whole else _group(verdicts, seen), ledger, "")
        elif names.knows(label) and names.is_own(label):
            ledger.checked = True
            _compare(stated, verdicts, ledger, "")
        else:
            ledger.skip(line, label, ", of another run" if names.knows(label) else "")


def _is_plain_all(label: str) -> bool:
    found = _ALL.fullmatch(one_spaced(label))
    return (found is not None and not found["rest"].strip(" :.")) or label.casefold() in {"all items", "grand total"}


def _stated(heads: list[str], cells: list[str], line: int, place: str) -> Totals | None:
    """Return the totals that a row of numbers states, None where a number cannot be read."""
    counts: dict[str, int] = {}
    items = alone = None
    pair: tuple[int, int] | None = None
    named = any(head.startswith("partly (") for head in heads)
    for head, cell in zip(heads, cells, strict=True):
        if not (is_verdict(head) or head in _ITEMS or head == "credited") or not cell:
            continue
        number = _COUNT.fullmatch(cell)
        if number is None or (number[2] and head != "credited"):
            return None
        if head in _ITEMS:
            items = int(number[1])
        elif head != "credited":
            name = PARTLY if head == PARTLY and not named else word(read_verdict(head))
            counts[name] = int(number[1])
        elif number[2]:
            pair = int(number[1]), int(number[2])
        else:
            alone = int(number[1])
    return Totals(counts, line, pair, "", False, items, alone, place) if counts or alone is not None else None
