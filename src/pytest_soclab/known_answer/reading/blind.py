"""The blind scoring sheet (CSV) with its sealed map (JSON): whose verdicts stand behind a blind label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pytest_soclab.base.errors import nearest, quote
from pytest_soclab.known_answer.basis.faults import Faults
from pytest_soclab.known_answer.basis.files import decode, read_bytes, read_json, refuse, shown, text_field
from pytest_soclab.known_answer.basis.keys import BEYOND_HUMAN, item_key
from pytest_soclab.known_answer.basis.run import ScoredRun
from pytest_soclab.known_answer.basis.verdicts import ACCEPTED, Verdict, is_verdict, one_spaced, read_verdict
from pytest_soclab.known_answer.markdown.inline import inline_text
from pytest_soclab.known_answer.reading.sheets import sheet_rows

PREFIX = "blind:"
MOST_LABELS = 10_000
_ALIASES = {
    "label": ("label", "report", "blind", "run"),
    "item": ("item", "#", "key"),
    "verdict": ("verdict", "score"),
}
_FORMS = "`label,item,verdict` or `item` and one column a label"


@dataclass(slots=True)
class BlindRun:
    """What the sheet says about one blind label."""

    verdicts: dict[str, Verdict | None] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    beyond: int | None = None


@dataclass(frozen=True, slots=True)
class BlindSheet:
    """A scoring sheet that its sealed map has opened: the runs by name."""

    sheet: str
    map: str
    runs: dict[str, BlindRun]

    def run(self, reference: str) -> ScoredRun:
        """Return the run that `blind:NAME` names. Raises KnownAnswerError naming the runs that the map has."""
        name = reference.removeprefix(PREFIX)
        if name not in self.runs:
            found = f"the run {quote(name)}, which the sealed map lacks"
            refuse(found, self.map, remedy=nearest(name, self.runs))
        blind = self.runs[name]
        places = {key: f"{self.sheet}:{line}" for key, line in blind.lines.items()}
        return ScoredRun(name, reference, blind.verdicts, blind.beyond, kind="blind sheet", places=places)


def read_blind(sheet: str, sealed_map: str) -> BlindSheet:
    """Return the runs of a sheet and its map. Raises KnownAnswerError where the two do not fit, with file and line."""
    names = read_map(sealed_map)
    labels = _read_sheet(sheet, names)
    unscored = [label for label in names if label not in labels]
    if unscored:
        found = f"no row or column for the blind label {quote(unscored[0])}, which the sealed map {sealed_map} has"
        refuse(found, sheet, expected="every label of the map", remedy="is this the sheet of this map?")
    return BlindSheet(sheet, sealed_map, {names[label]: run for label, run in labels.items()})


def read_map(path: str) -> dict[str, str]:
    """Return run name by blind label. Raises KnownAnswerError on a label or a run that stands twice."""
    data = read_json(path)
    if isinstance(data, dict) and isinstance(data.get("labels"), dict):
        data = data["labels"]
    if not isinstance(data, dict) or not data:
        refuse(shown(data), path, expected='blind label to run name, such as {"Q": "run7"}')
    if len(data) > MOST_LABELS:
        refuse(f"{len(data)} blind labels", path, expected=f"at most {MOST_LABELS}", remedy="is this the map?")
    names: dict[str, str] = {}
    for label, value in data.items():
        stripped = text_field(label, path, "label")
        name = text_field(value, path, stripped)
        if stripped in names or name in names.values():
            _refuse_twice(path, names, stripped, name)
        names[stripped] = name
    return names


def _refuse_twice(path: str, names: dict[str, str], label: str, name: str) -> None:
    if label in names:
        refuse(f"the label {quote(label)} twice", path, expected="every label once")
    other = next(known for known, run in names.items() if run == name)
    found = f"the run {quote(name)} behind the two labels {quote(other)} and {quote(label)}"
    refuse(found, path, expected="one label a run", remedy="correct the map")


def _read_sheet(path: str, names: dict[str, str]) -> dict[str, BlindRun]:
    text = decode(read_bytes(path), path)
    rows = sheet_rows(text, path, frozenset(_ALIASES["item"]))
    line, header = next(rows, (1, []))
    if not header:
        refuse("an empty sheet", path, expected=f"a header: {_FORMS}")
    columns = _Columns.of(header, names, path, line)
    labels: dict[str, BlindRun] = {}
    for column_label in columns.wide:
        labels[column_label] = BlindRun()
    faults = Faults(path)
    for line, row in rows:
        with faults.gather():
            columns.check(row, path, line)
            for label, written in columns.verdicts(row):
                if label not in names:
                    found = f"the blind label {quote(label)}, which the sealed map lacks"
                    refuse(found, path, line, remedy=nearest(label, names))
                with faults.gather():
                    _add(labels.setdefault(label, BlindRun()), row[columns.item], written, path, line)
    faults.settle()
    return labels


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where the sheet's header puts item, label and verdict; `wide` is label to column in a wide sheet."""

    item: int
    label: int | None
    verdict: int | None
    wide: dict[str, int]
    width: int

    @classmethod
    def of(cls, header: Sequence[str], names: dict[str, str], path: str, line: int) -> _Columns:
        """Return the columns of a header row, or refuse the header naming what it lacks."""
        folded = [one_spaced(cell).casefold() for cell in header]
        item = _column(folded, "item", path, line)
        label, verdict = (_column(folded, name, path, line) for name in ("label", "verdict"))
        if item is None or (label is None) != (verdict is None):
            columns = {"item": item, "label": label, "verdict": verdict}
            lacking = next(name for name, column in columns.items() if column is None)
            if item is None or not _is_wide(header, names, item):
                refuse(f"the header {quote(', '.join(header))} without {lacking} column", path, line, expected=_FORMS)
            label = verdict = None
        if label is not None and verdict is not None:
            return cls(item, label, verdict, {}, len(header))
        return cls(item, None, None, _wide(header, names, item, path, line), len(header))

    def verdicts(self, row: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield label and written verdict of a row."""
        if self.label is not None and self.verdict is not None:
            yield row[self.label].strip(), row[self.verdict]
        for label, column in self.wide.items():
            yield label, row[column]

    def check(self, row: Sequence[str], path: str, line: int) -> None:
        """Refuse a row that lacks a needed cell or whose cells go beyond the header."""
        needed = max(self.item, self.label or 0, self.verdict or 0, *self.wide.values()) + 1
        if len(row) < needed or any(cell.strip() for cell in row[self.width :]):
            refuse(
                f"{len(row)} cells under a header of {self.width}",
                path,
                line,
                expected=f"{self.width} cells",
                remedy="quote a cell that holds the delimiter",
            )


def _column(folded: Sequence[str], name: str, path: str, line: int) -> int | None:
    """Return the column of a name: the name itself first, else its one alias. Two of them are refused."""
    for accepted in ((name,), _ALIASES[name][1:]):
        found = [column for column, title in enumerate(folded) if title in accepted]
        if len(found) > 1:
            titles = " and ".join(quote(folded[column]) for column in found)
            refuse(f"{titles} in the header, both read as {name}", path, line, expected=f"one {name} column")
        if found:
            return found[0]
    return None


def _is_wide(header: Sequence[str], names: dict[str, str], item: int) -> bool:
    return all(_label(title, names) for column, title in enumerate(header) if column != item and title.strip())


def _wide(header: Sequence[str], names: dict[str, str], item: int, path: str, line: int) -> dict[str, int]:
    labels: dict[str, int] = {}
    for column, title in enumerate(header):
        if column == item or not title.strip():
            continue
        label = _label(title, names)
        if label is None:
            found = f"the blind label {quote(title.strip())}, which the sealed map lacks"
            refuse(found, path, line, remedy=nearest(title.strip(), names))
        if label in labels:
            refuse(f"the column {quote(label)} twice", path, line, expected="one column a label")
        labels[label] = column
    return labels


def _label(title: str, names: dict[str, str]) -> str | None:
    """Return the map's label that a column title names: exactly, else in any case where just one fits."""
    title = title.strip()
    if title in names:
        return title
    close = [label for label in names if label.casefold() == title.casefold()]
    return close[0] if len(close) == 1 else None


def _add(run: BlindRun, label: str, written: str, path: str, line: int) -> None:
    text = one_spaced(inline_text(label))
    key = item_key(text)
    if not key:
        refuse("a row without an item", path, line, expected="an item such as K1.2", remedy="name it or drop it")
    if key in run.lines:
        found = f"item {quote(text)} twice, first on line {run.lines[key]}"
        refuse(found, path, line, expected="every item once a label", remedy="drop one of the two rows")
    run.lines[key] = line
    if key == BEYOND_HUMAN:
        run.beyond = _count(written.strip(), path, line)
    else:
        run.verdicts[key] = _verdict(written, text, path, line)


def _count(written: str, path: str, line: int) -> int | None:
    if not written:
        return None
    if not (written.isascii() and written.isdigit() and len(written) < 10):
        refuse(f"{BEYOND_HUMAN} is {quote(written)}", path, line, expected="a whole number")
    return int(written)


def _verdict(written: str, item: str, path: str, line: int) -> Verdict | None:
    text = inline_text(written.strip())
    if not text.strip():
        return None
    if not is_verdict(text):
        found = f"item {quote(item)} has the verdict {quote(written.strip())}"
        refuse(found, path, line, expected=ACCEPTED, remedy="put remarks into another column")
    return read_verdict(text)
