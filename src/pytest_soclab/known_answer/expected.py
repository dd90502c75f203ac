"""The items that every run must score, where the user says which or how many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_soclab.base.errors import Fault, KnownAnswerError, printable
from pytest_soclab.known_answer.basis.files import decode, parse_json, read_bytes, refuse, shown
from pytest_soclab.known_answer.basis.keys import LabelError
from pytest_soclab.known_answer.basis.run import ScoredRun
from pytest_soclab.known_answer.basis.vocabulary import Vocabulary
from pytest_soclab.known_answer.markdown.inline import inline_text

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Expected:
    """How many items, or which, a run must score; either may be left open."""

    count: int | None = None
    keys: frozenset[str] | None = None
    path: str = ""

    @classmethod
    def of(cls, count: int | None, path: str | None, vocabulary: Vocabulary) -> Expected:
        """Return what `--expect-items` and `--items` say. Raises KnownAnswerError on a list that cannot be read."""
        if not path:
            return cls(count)
        keys: set[str] = set()
        for line, label in _labels(path):
            try:
                found = vocabulary.keys(inline_text(label))
            except LabelError as error:
                refuse(f"the label {shown(label)}: {error}", path, line, expected="an item a line")
            if keys & set(found) or not all(found):
                refuse(f"the item {shown(label)} twice", path, line, expected="every item once")
            keys.update(found)
        if not keys:
            refuse("no item", path, expected="one item label a line, or a JSON list of them")
        return cls(count, frozenset(keys), path)

    def check(self, runs: Sequence[ScoredRun]) -> None:
        """Raise KnownAnswerError where a run does not score exactly the expected items."""
        faults = [fault for run in runs for fault in self._faults(run)]
        if faults:
            raise KnownAnswerError(*faults)

    def _faults(self, run: ScoredRun) -> Iterable[Fault]:
        scored = {key for key, verdict in run.verdicts.items() if verdict is not None}
        unknown = len(run.verdicts) - len(scored)
        if self.count is not None and len(scored) != self.count:
            found = f"{len(scored)} items scored" + (f" and {unknown} unknown" if unknown else "")
            yield Fault(found, run.source, field="--expect-items", expected=str(self.count), remedy="score every item")
        if self.keys is not None and scored != self.keys:
            yield Fault(
                "; ".join(filter(None, (_named("lacks", self.keys - scored), _named("has too", scored - self.keys)))),
                run.source,
                field="--items",
                expected=f"the {len(self.keys)} items of {self.path}",
                remedy="score every item of the list and no other",
            )


def _named(what: str, keys: frozenset[str] | set[str]) -> str:
    ordered = sorted(keys)
    more = f" and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
    return f"{what} {', '.join(map(printable, ordered[:_SHOWN]))}{more}" if keys else ""


def _labels(path: str) -> Iterable[tuple[int, str]]:
    text = decode(read_bytes(path), path)
    if text.lstrip().startswith("["):
        values = parse_json(text, path)
        for value in values:
            if not isinstance(value, str):
                refuse(shown(value), path, expected="a JSON list of item labels")
        return [(0, value) for value in values]
    lines = enumerate(text.splitlines(), 1)
    return [(number, line.strip()) for number, line in lines if line.strip() and not line.startswith("# ")]
