"""Rows that other programs wrote: CSV or JSONL with `item, verdict` and, where there are several, `run` and `trial`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_soclab.base.errors import quote
from pytest_soclab.known_answer.basis.faults import Faults
from pytest_soclab.known_answer.basis.files import decode, parse_json, read_bytes, refuse, shown
from pytest_soclab.known_answer.basis.run import ScoredRun
from pytest_soclab.known_answer.basis.verdicts import one_spaced
from pytest_soclab.known_answer.basis.vocabulary import Vocabulary
from pytest_soclab.known_answer.markdown.inline import inline_text
from pytest_soclab.known_answer.reading.building import Building, worded
from pytest_soclab.known_answer.reading.sheets import sheet_rows

_NAMES = {"item": ("item", "#", "key", "id"), "verdict": ("verdict", "score"), "run": ("run",), "trial": ("trial",)}
_BLIND = frozenset({"label", "report", "blind"})
_FORM = "`item,verdict` and, for several runs, `run` or `trial`"

Row = tuple[int, Mapping[str, Any]]


def read_rows(path: str, vocabulary: Vocabulary, selected: str | None = None, name: str = "") -> tuple[ScoredRun, ...]:
    """Return the runs of a CSV, TSV or JSONL file, one a `run` and `trial`; `name` is theirs where it has neither.

    Raises KnownAnswerError with every row that cannot be read.
    """
    lines = path.casefold().endswith((".jsonl", ".ndjson"))
    building = Building(path, "JSONL rows" if lines else "CSV rows", vocabulary)
    faults = Faults(path)
    for line, row in _json_rows(path, faults) if lines else _csv_rows(path):
        building.count(line)
        with faults.gather():
            _add(building, line, row, name)
    faults.settle()
    return building.finish(selected)


def _add(building: Building, line: int, row: Mapping[str, Any], name: str) -> None:
    found = {part: _value(row, part, building.path, line) for part in _NAMES}
    building.left |= set(row) - {alias for names in _NAMES.values() for alias in names}
    label = worded(found["item"])
    if label is None:
        refuse(shown(found["item"]), building.path, line, field="item", expected="a text such as K1.2")
    label = one_spaced(inline_text(label))
    written = found["verdict"]
    verdict = building.verdict(inline_text(written.strip()) if isinstance(written, str) else written, label, line)
    building.add(_run(found, name, building.path, line), label, verdict, line)


def _value(row: Mapping[str, Any], part: str, path: str, line: int) -> Any:
    given = [alias for alias in _NAMES[part] if alias in row]
    if len(given) > 1 and part in given:
        given = [part]
    if len(given) > 1:
        names = " and ".join(map(quote, given))
        refuse(f"{names}, both read as {part}", path, line, expected=f"one {part}")
    if not given and part in {"item", "verdict"}:
        refuse(f"a row without {part}", path, line, expected=_FORM)
    return row[given[0]] if given else None


def _run(found: Mapping[str, Any], name: str, path: str, line: int) -> str:
    parts = []
    for part in ("run", "trial"):
        value = found[part]
        text = worded(value)
        if value is not None and (text is None or not text.strip()):
            refuse(shown(value), path, line, field=part, expected="a name or a number")
        if text is not None:
            parts.append(text.strip() if part == "run" else f"trial {text.strip()}")
    return " ".join(parts) or name or path


def _json_rows(path: str, faults: Faults) -> Iterator[Row]:
    for line, text in enumerate(decode(read_bytes(path), path).split("\n"), 1):
        if not text.strip():
            continue
        with faults.gather():
            row = parse_json(text, path, line)
            if not isinstance(row, dict):
                refuse(shown(row), path, line, expected='an object such as {"item": "K1.2", "verdict": "found"}')
            yield line, {name.strip().casefold(): value for name, value in row.items()}


def _csv_rows(path: str) -> Iterator[Row]:
    rows = sheet_rows(decode(read_bytes(path), path), path, frozenset(_NAMES["item"]))
    line, header = next(rows, (1, []))
    names = [one_spaced(cell).casefold() for cell in header]
    if _BLIND & set(names) or not set(_NAMES["item"]) & set(names) or not set(_NAMES["verdict"]) & set(names):
        refuse(
            f"the header {quote(', '.join(header))}",
            path,
            line,
            expected=f"blind:NAME with --sheet CSV --map JSON for a blind sheet, else the header {_FORM}",
            remedy="name the run that stands behind the label, or the columns",
        )
    twice = [name for index, name in enumerate(names) if name in names[:index] and name]
    if twice:
        refuse(f"the column {quote(twice[0])} twice", path, line, expected="every column once")
    for line, row in rows:
        if len(row) > len(names) and any(cell.strip() for cell in row[len(names) :]):
            remedy = "quote a cell that holds the delimiter"
            refuse(f"{len(row)} cells under a header of {len(names)}", path, line, remedy=remedy)
        cells = row + [""] * (len(names) - len(row))
        yield line, {name: cell for name, cell in zip(names, cells, strict=False) if name}
