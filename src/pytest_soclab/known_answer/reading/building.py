"""Scored runs built item by item from results that other programs wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_soclab.base.errors import Fault, KnownAnswerError, nearest, quote
from pytest_soclab.known_answer.basis.files import refuse, shown
from pytest_soclab.known_answer.basis.keys import LabelError
from pytest_soclab.known_answer.basis.run import ScoredRun
from pytest_soclab.known_answer.basis.verdicts import Verdict
from pytest_soclab.known_answer.basis.vocabulary import Vocabulary

MOST_RUNS = 10_000
MOST_ROWS = 200_000
_SHOWN = 8


class LimitError(KnownAnswerError):
    """A file holds more than is read; nothing behind it is looked at."""


@dataclass
class Building:
    """The runs of one file while it is read, by name, in the order in which they appear."""

    path: str
    kind: str
    vocabulary: Vocabulary
    verdicts: dict[str, dict[str, Verdict | None]] = field(default_factory=dict)
    places: dict[str, dict[str, str]] = field(default_factory=dict)
    left: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    rows: int = 0

    def count(self, line: int = 0) -> None:
        """Count one row that is met. Raises LimitError beyond the most that are read."""
        self.rows += 1
        if self.rows > MOST_ROWS:
            expected = f"at most {MOST_ROWS} scored rows a file"
            raise LimitError(Fault(f"more than {MOST_ROWS} rows", self.path, line, expected=expected))

    def add(self, run: str, label: str, verdict: Verdict | None, line: int = 0, field: str = "") -> None:
        """Add one item of a run. Raises KnownAnswerError where it has no key, or stands in the run already."""
        verdicts = self.verdicts.setdefault(run, {})
        places = self.places.setdefault(run, {})
        if len(self.verdicts) > MOST_RUNS:
            refuse(f"more than {MOST_RUNS} runs", self.path, line, expected="some runs", remedy="is this their column?")
        place = f"{self.path}:{line}" if line else f"{self.path} {field}".strip()
        for key in self._keys(label, line, field):
            if key in verdicts:
                found = f"item {quote(label)} twice in the run {quote(run)}, first at {places[key]}"
                remedy = "name each repetition in a column `trial`, or drop one"
                refuse(found, self.path, line, field=field, expected="every item once a run", remedy=remedy)
            verdicts[key] = verdict
            places[key] = place

    def _keys(self, label: str, line: int, field: str) -> tuple[str, ...]:
        try:
            keys = self.vocabulary.keys(label)
        except LabelError as error:
            remedy = "write a row an item, or mend --key"
            refuse(f"the label {quote(label)}: {error}", self.path, line, field=field, remedy=remedy)
        if not all(keys):
            refuse("an item without a label", self.path, line, field=field, expected="an item such as K1.2")
        return keys

    def verdict(self, written: Any, label: str, line: int = 0, field: str = "") -> Verdict | None:
        """Return the verdict that a value is. Raises KnownAnswerError on one that no word maps."""
        text = worded(written)
        if text is not None and self.vocabulary.knows(text):
            return self.vocabulary.read(text)
        return refuse(
            f"item {quote(label)} has the verdict {shown(written)}",
            self.path,
            line,
            field=field,
            expected=self.vocabulary.accepted,
            remedy="map the word with --words FILE, lines such as `✅: found`",
        )

    def binary(self, passed: bool) -> Verdict | None:
        """Return the verdict of a test that passed or failed: found or missed, unless `--words` maps them."""
        word = "pass" if passed else "fail"
        if self.vocabulary.words and self.vocabulary.knows(word):
            return self.vocabulary.read(word)
        return Verdict.FOUND if passed else Verdict.MISSED

    def finish(self, selected: str | None, names: str = "run") -> tuple[ScoredRun, ...]:
        """Return the runs, or the selected one. Raises KnownAnswerError where there is no item, or no such run."""
        if not any(self.verdicts.values()):
            refuse("no scored item", self.path, expected="at least one", remedy="is the file complete?")
        if selected is not None and selected not in self.verdicts:
            refuse(f"no {names} {quote(selected)}", self.path, remedy=nearest(selected, self.verdicts))
        chosen = [selected] if selected is not None else list(self.verdicts)
        notes = (*self.notes, *([f"not read: {_listed(self.left)}"] if self.left else []))
        return tuple(self._run(name, notes) for name in chosen)

    def _run(self, name: str, notes: tuple[str, ...]) -> ScoredRun:
        source = f"{self.path}#{name}" if len(self.verdicts) > 1 else self.path
        return ScoredRun(name, source, self.verdicts[name], kind=self.kind, notes=notes, places=self.places[name])


def worded(value: Any) -> str | None:
    """Return a scalar as the word that is mapped, None for what is no scalar."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int() | float():
            return format(value, ".15g")
        case _:
            return None


def _listed(names: set[str]) -> str:
    ordered = sorted(names)
    more = f" and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
    return ", ".join(ordered[:_SHOWN]) + more


def objects(value: Any, path: str, field: str) -> list[Mapping[str, Any]]:
    """Return a list of JSON objects, or refuse it with its place."""
    if not isinstance(value, list):
        refuse(shown(value), path, field=field, expected="a list of objects")
    for index, entry in enumerate(value):
        if not isinstance(entry, dict):
            refuse(shown(entry), path, field=f"{field}[{index}]", expected="an object")
    return value
