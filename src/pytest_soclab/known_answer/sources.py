"""From the arguments that name scored runs to the runs, whatever wrote them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pytest_soclab.base.errors import Fault, KnownAnswerError
from pytest_soclab.known_answer.basis.files import read_bytes, read_json, refuse
from pytest_soclab.known_answer.basis.run import ScoredRun
from pytest_soclab.known_answer.basis.vocabulary import read_vocabulary
from pytest_soclab.known_answer.expected import Expected
from pytest_soclab.known_answer.provenance.tags import Declared, builtin_kind, read_provenance
from pytest_soclab.known_answer.reading.blind import PREFIX, BlindSheet, read_blind
from pytest_soclab.known_answer.reading.calibration import read_calibration
from pytest_soclab.known_answer.reading.eval_logs import is_inspect, is_promptfoo, read_inspect, read_promptfoo
from pytest_soclab.known_answer.reading.junit_xml import read_junit
from pytest_soclab.known_answer.reading.key_score import Reading, read_key_score
from pytest_soclab.known_answer.reading.rows import read_rows

_ROWS = frozenset({".csv", ".tsv", ".jsonl", ".ndjson"})


@dataclass(frozen=True, slots=True)
class How:
    """How the scored runs of one command are read: every file and option beside the runs themselves.

    Attributes:
        sheet, map: the blind sheet and its sealed map.
        settings: stored settings with what tools declare.
        words: a file that maps further scoring words.
        key: the pattern that takes an item's key from its label.
        items: a file with the items that every run must score.
        expect_items: how many items every run must score.
        allow_unread: whether what looks like an item may stay unread.
    """

    sheet: str | None = None
    map: str | None = None
    settings: str | None = None
    words: str | None = None
    key: str | None = None
    items: str | None = None
    expect_items: int | None = None
    allow_unread: bool = False


@dataclass
class Sources:
    """Reads the scored runs of one command, each file once."""

    how: How = field(default_factory=How)
    _read: dict[str, tuple[ScoredRun, ...]] = field(default_factory=dict)

    @cached_property
    def blind(self) -> BlindSheet:
        """The blind sheet, opened by its map."""
        if not self.how.sheet or not self.how.map:
            refuse(
                "a blind run without its sheet and map",
                expected="--sheet CSV and --map JSON",
                remedy="give both, or name a score file",
            )
        return read_blind(self.how.sheet, self.how.map)

    @cached_property
    def declared(self) -> Declared:
        """What the tools declare: the settings' word where they are given, else the built-in servers'."""
        if not self.how.settings:
            return builtin_kind
        from pytest_soclab.known_answer.intel_off.settings import declared_kind, read_settings

        return declared_kind(read_settings(self.how.settings), self.how.settings)

    @cached_property
    def reading(self) -> Reading:
        """How words and labels are read."""
        return Reading(read_vocabulary(self.how.words, self.how.key), self.how.allow_unread)

    @cached_property
    def expected(self) -> Expected:
        """The items that every run must score."""
        return Expected.of(self.how.expect_items, self.how.items, self.reading.vocabulary)

    def arm(self, references: Sequence[str], name: str) -> tuple[ScoredRun, ...]:
        """Return the runs of an arm. Raises KnownAnswerError with the faults of all its files at once."""
        if not references:
            raise KnownAnswerError(Fault("no scored run", field=name, expected="at least one"))
        self._refuse_twice(references, name)
        runs: list[ScoredRun] = []
        faults: list[Fault] = []
        for reference in references:
            try:
                runs += self.runs(reference)
            except KnownAnswerError as error:
                faults += [fault for fault in error.faults if fault not in faults]
        if faults:
            raise KnownAnswerError(*faults)
        _refuse_copies(runs, name)
        return tuple(runs)

    def runs(self, reference: str) -> tuple[ScoredRun, ...]:
        """Return the scored runs of `blind:NAME`, of a file, or of the part `FILE#NAME` of one."""
        if reference not in self._read:
            runs = self._open(reference)
            self.expected.check(runs)
            self._read[reference] = runs
        return self._read[reference]

    def _open(self, reference: str) -> tuple[ScoredRun, ...]:
        if reference.startswith(PREFIX):
            return (self.blind.run(reference),)
        if Path(reference).is_dir():
            from pytest_soclab.known_answer.live import read_folder

            return read_folder(reference)
        path, part = _parted(reference)
        suffix = Path(path).suffix.casefold()
        name = Path(path).absolute().parent.name or path
        words = self.reading.vocabulary
        if suffix in _ROWS:
            return _digested(read_rows(path, words, part, name), path)
        if suffix == ".json":
            return _digested(self._json(path, part), path)
        if part is not None:
            refuse(f"the part {part}", path, expected="a part of rows or of a log only", remedy="name the file alone")
        if suffix == ".xml":
            return _digested(read_junit(path, words, name), path)
        if suffix == ".eval":
            remedy = "convert it to JSON: inspect log convert --to json"
            refuse("a packed inspect_ai log", path, expected="its JSON form", remedy=remedy)
        return (self._key_score(path, name),)

    def _json(self, path: str, part: str | None) -> tuple[ScoredRun, ...]:
        data = read_json(path)
        words = self.reading.vocabulary
        if is_inspect(data):
            return read_inspect(data, path, words, part)
        if is_promptfoo(data):
            return read_promptfoo(data, path, words, part)
        if part is not None:
            refuse(f"the part {part}", path, expected="a part of rows or of a log only", remedy="name the file alone")
        return (read_calibration(path, data),)

    def _key_score(self, path: str, name: str) -> ScoredRun:
        data = read_bytes(path)
        score = read_key_score(path, self.reading, data)
        return ScoredRun(
            name=name,
            source=path,
            verdicts={key: item.verdict for key, item in score.items.items()},
            beyond=score.beyond,
            totals_checked=score.totals_checked,
            provenance=read_provenance(path, score.items, self.declared),
            notes=score.notes,
            places={key: f"{path}:{item.line}" for key, item in score.items.items()},
            digest=hashlib.sha256(data).hexdigest(),
        )

    def _refuse_twice(self, references: Sequence[str], name: str) -> None:
        seen: dict[str, str] = {}
        for reference in references:
            place = reference if reference.startswith(PREFIX) else _resolved(reference)
            if place in seen:
                found = f"the run {reference} twice"
                raise KnownAnswerError(
                    Fault(found, field=name, expected="every run once", remedy="a repeated run is no second run")
                )
            seen[place] = reference


def _parted(reference: str) -> tuple[str, str | None]:
    """Return file and part of `FILE#NAME`; a file whose own name has a `#` is itself."""
    path, mark, part = reference.rpartition("#")
    return (path, part) if mark and path and not _exists(reference) else (reference, None)


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def _resolved(reference: str) -> str:
    try:
        return str(Path(reference).resolve())
    except (OSError, RuntimeError, ValueError):
        return reference


def _digested(runs: tuple[ScoredRun, ...], path: str) -> tuple[ScoredRun, ...]:
    """Return runs with a digest each: of the file and of their place in it."""
    digest = hashlib.sha256(read_bytes(path)).hexdigest()
    return tuple(replace(run, digest=f"{digest}#{run.name}") for run in runs)


def _refuse_copies(runs: Sequence[ScoredRun], name: str) -> None:
    """Refuse a run whose file is byte for byte that of another: a copy is no second measurement."""
    seen: dict[str, str] = {}
    faults = []
    for run in runs:
        if run.digest and run.digest in seen:
            found = f"a copy of {seen[run.digest]}, byte for byte"
            remedy = "score each run on its own; a copy is no second run"
            faults.append(Fault(found, run.source, field=name, expected="every run once", remedy=remedy))
        seen.setdefault(run.digest, run.source)
    if faults:
        raise KnownAnswerError(*faults)


def distinct_names(*arms: tuple[ScoredRun, ...]) -> tuple[tuple[ScoredRun, ...], ...]:
    """Return the arms with every run whose name is another's too named by its path."""
    sources: dict[str, set[str]] = {}
    for run in (run for arm in arms for run in arm):
        sources.setdefault(run.name, set()).add(run.source)
    shared = Counter({name: len(found) for name, found in sources.items()})
    return tuple(tuple(replace(run, name=run.source) if shared[run.name] > 1 else run for run in arm) for arm in arms)
