"""Loads scenario and incident files: all faults of a file at once, each with its place."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from pytest_soclab.base import clock
from pytest_soclab.base.errors import Fault, ScenarioError, nearest, quote
from pytest_soclab.evidence.results import Kind
from pytest_soclab.reading.faults import faults_of
from pytest_soclab.reading.yaml_source import MAX_FAULTS, Document, read
from pytest_soclab.scenario import template
from pytest_soclab.scenario.answers import key_faults
from pytest_soclab.scenario.checks import check, table_faults
from pytest_soclab.scenario.model import ID_PATTERN, INCIDENT_PATTERN, Incident, Scenario
from pytest_soclab.scenario.scaffold import blank_faults
from pytest_soclab.scenario.vocabulary import Vocabulary

MAX_INCIDENT_BYTES = 8 * 1_048_576
_NAMES = {"id", "version", "title", "description", "tier", "family", "atlas", "owasp", "gates", "twin", "surface"}
_DONE = {"agent", "harness", "legitimate", "charter", "attack_succeeds_when", "model"}
"""What a scripted trial does and is judged by; everything else of a scenario is read by a live agent alone."""
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class LoadedScenario:
    """A valid scenario with its file and digest (SHA-256 of the text, in hex)."""

    scenario: Scenario
    path: Path
    shown: str
    digest: str
    incident_path: Path

    def fields(self, variant: str) -> Mapping[str, str]:
        """Return the template fields of a variant."""
        return self.scenario.variants[variant]

    @cached_property
    def scripts(self) -> tuple[str, ...]:
        """Return the variants whose scripts or effects differ: in the others only what a live agent reads does."""
        said = self.scenario.model_dump(include=_DONE)
        named = [template.names(text) for _, text in template.templates_in(said)]
        used = sorted({name for names in named for name in names})
        differ: dict[tuple[str, ...], str] = {}
        for variant, fields in self.scenario.variants.items():
            differ.setdefault(tuple(fields.get(name, "") for name in used), variant)
        return tuple(differ.values())

    @cached_property
    def essence(self) -> str:
        """Return what a trial of this scenario is made of, as text: without its names, numbers and classes."""
        return self.scenario.model_dump_json(exclude=_NAMES)

    @cached_property
    def surface(self) -> str:
        """Where the attack comes from: the first table that carries the payload, or `control_plane`."""
        if self.scenario.surface:
            return self.scenario.surface
        carrier = next((path[0] for path, _ in template.templates_in(self.scenario.given)), None)
        return str(carrier) if carrier else "control_plane" if self.scenario.kind is Kind.ATTACK else "none"


@dataclass(frozen=True)
class LoadedIncident:
    """A valid incident with its plain data (for the world builder) and digest."""

    incident: Incident
    data: Mapping[str, Any]
    shown: str
    digest: str

    @cached_property
    def records(self) -> str:
        """Return the alert and every table as JSON text."""
        return json.dumps([self.data.get("alert"), self.data.get("tables")], ensure_ascii=False, default=str)

    def holds(self, text: str) -> bool:
        """Tell whether a text stands in the alert or a table, before any scenario adds its own rows."""
        return json.dumps(text, ensure_ascii=False)[1:-1] in self.records


def load_scenario(path: Path, vocabulary: Vocabulary, shown: str | None = None) -> LoadedScenario:
    """Load one scenario file.

    Raises:
        ScenarioError: with every fault of the file.
    """
    document = read(path, shown)
    blanks = list(blank_faults(document))
    if blanks:
        raise ScenarioError(*blanks)
    scenario, faults = _validated(Scenario, document)
    name = _incident_name(document)
    incident = find_incident(path, name) if name else None
    own = [*_name_faults(path, document), *_incident_faults(path, incident, document)]
    own += islice(check(document, vocabulary), MAX_FAULTS)
    faults = _merged(own, faults)
    if faults or scenario is None or incident is None:
        raise ScenarioError(*faults)
    return LoadedScenario(scenario, path, document.path, _digest(document.text), incident)


def _validated(model: type[M], document: Document) -> tuple[M | None, list[Fault]]:
    try:
        return model.model_validate(document.value), []
    except ValidationError as error:
        return None, faults_of(error, model, document)


def _merged(own: Iterable[Fault], model: Iterable[Fault]) -> list[Fault]:
    """Return all faults in file order; where two speak of one place, the checks know more than the model."""
    places = {(fault.line, fault.field): fault for fault in own}
    rest = [fault for fault in model if (fault.line, fault.field) not in places]
    unique = {str(fault): fault for fault in (*own, *rest)}
    return sorted(unique.values(), key=lambda fault: (fault.line, fault.column))


def load_incident(path: Path, vocabulary: Vocabulary, shown: str | None = None) -> LoadedIncident:
    """Load one incident file.

    Raises:
        ScenarioError: with every fault of the file.
    """
    document = read(path, shown, MAX_INCIDENT_BYTES)
    incident, faults = _validated(Incident, document)
    own = [*islice(table_faults(document.value.get("tables"), ("tables",), document, vocabulary), MAX_FAULTS)]
    own += _times(document)
    if incident is not None:
        own += islice(key_faults(incident.answer_key, document, vocabulary), MAX_FAULTS)
    if incident is not None and incident.id != path.stem:
        found, expected = f"found {quote(incident.id)}", f"the file's name, {path.stem!r}"
        own.append(document.fault(("id",), found, expected, "rename the file or mend the id"))
    faults = _merged(own, faults)
    if faults or incident is None:
        raise ScenarioError(*faults)
    return LoadedIncident(incident, document.value, document.path, _digest(document.text))


def _digest(text: str) -> str:
    return hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest()


def find_incident(scenario_path: Path, name: str) -> Path | None:
    """Return the incident's file: from the nearest `incidents/` folder above the scenario, else the bundled one."""
    return next(
        (file for folder in _incident_folders(scenario_path) if (file := folder / f"{name}.yaml").is_file()), None
    )


def _incident_folders(scenario_path: Path) -> Iterator[Path]:
    from pytest_soclab.base import resources

    yield from (parent / "incidents" for parent in scenario_path.absolute().parents)
    yield resources.scenarios() / "incidents"


def _incident_name(document: Document) -> str:
    """Return the incident that the file names, or an empty text where the model refuses the name."""
    name = document.value.get("incident")
    return name if isinstance(name, str) and re.fullmatch(INCIDENT_PATTERN, name) else ""


def _incident_faults(path: Path, file: Path | None, document: Document) -> list[Fault]:
    name = _incident_name(document)
    if file is not None or not name:
        return []
    names = {file.stem for folder in _incident_folders(path) if folder.is_dir() for file in folder.glob("*.yaml")}
    return [document.fault(("incident",), f"found the unknown incident {name!r}", "", nearest(name, names))]


def _times(document: Document) -> Iterator[Fault]:
    """Yield what is wrong with an incident's start."""
    start = document.value.get("start")
    try:
        clock.epoch_of(str(start))
    except (ValueError, OverflowError):
        if start is not None:
            expected = "an RFC 3339 time such as 2026-03-02T08:00:00Z"
            yield document.fault(("start",), f"found {quote(start)}", expected)


def _name_faults(path: Path, document: Document) -> list[Fault]:
    declared = document.value.get("id")
    if not isinstance(declared, str) or not re.fullmatch(ID_PATTERN, declared):
        return []
    if path.stem == declared or path.stem.startswith(f"{declared}-"):
        return []
    expected = f"the start of the file's name, {path.name!r}"
    return [document.fault(("id",), f"found {quote(declared)}", expected, "rename the file or mend the id")]
