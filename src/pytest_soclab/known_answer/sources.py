"""From the arguments that name scored runs to the runs: key scores, blind sheets, calibration scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pytest_soclab.base.errors import Fault, KnownAnswerError
from pytest_soclab.known_answer.blind import PREFIX, BlindSheet, read_blind
from pytest_soclab.known_answer.calibration import read_calibration
from pytest_soclab.known_answer.files import refuse
from pytest_soclab.known_answer.key_score import read_key_score
from pytest_soclab.known_answer.provenance import Declared, builtin_kind, read_provenance
from pytest_soclab.known_answer.run import ScoredRun


@dataclass
class Sources:
    """What the scored runs of one command are read with: sheet and map for blind runs, declarations for tools."""

    sheet: str | None = None
    map: str | None = None
    settings: str | None = None
    _read: dict[str, ScoredRun] = field(default_factory=dict)

    @cached_property
    def blind(self) -> BlindSheet:
        """The blind sheet, opened by its map."""
        if not self.sheet or not self.map:
            refuse(
                "a blind run without its sheet and map",
                expected="--sheet CSV and --map JSON",
                remedy="give both, or name a score file",
            )
        return read_blind(self.sheet, self.map)

    @cached_property
    def declared(self) -> Declared:
        """What the tools declare: the settings' word where they are given, else the built-in servers'."""
        if not self.settings:
            return builtin_kind
        from pytest_soclab.known_answer.settings import declared_kind, read_settings

        return declared_kind(read_settings(self.settings), self.settings)

    def arm(self, references: Sequence[str], name: str) -> tuple[ScoredRun, ...]:
        """Return the runs of an arm. Raises KnownAnswerError with the faults of all its files at once."""
        if not references:
            raise KnownAnswerError(Fault("no scored run", field=name, expected="at least one"))
        self._refuse_twice(references, name)
        runs: list[ScoredRun] = []
        faults: list[Fault] = []
        for reference in references:
            try:
                runs.append(self.run(reference))
            except KnownAnswerError as error:
                faults += [fault for fault in error.faults if fault not in faults]
        if faults:
            raise KnownAnswerError(*faults)
        return tuple(runs)

    def run(self, reference: str) -> ScoredRun:
        """Return one scored run: `blind:NAME`, a calibration score (`.json`) or a key score (any other file)."""
        if reference not in self._read:
            self._read[reference] = self._open(reference)
        return self._read[reference]

    def _open(self, reference: str) -> ScoredRun:
        if reference.startswith(PREFIX):
            return self.blind.run(reference)
        suffix = Path(reference).suffix.casefold()
        if suffix == ".json":
            return read_calibration(reference)
        if suffix in {".csv", ".tsv"}:
            refuse(
                "a blind sheet named as a run",
                reference,
                expected="blind:NAME with --sheet CSV --map JSON",
                remedy="name the run that stands behind the label",
            )
        return _key_score(reference, self.declared)

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


def _resolved(reference: str) -> str:
    try:
        return str(Path(reference).resolve())
    except (OSError, RuntimeError, ValueError):
        return reference


def _key_score(path: str, declared: Declared) -> ScoredRun:
    score = read_key_score(path)
    return ScoredRun(
        name=Path(path).absolute().parent.name or path,
        source=path,
        verdicts={key: item.verdict for key, item in score.items.items()},
        beyond=score.beyond,
        totals_checked=score.totals_checked,
        provenance=read_provenance(path, score.items, declared),
        notes=score.notes,
    )
