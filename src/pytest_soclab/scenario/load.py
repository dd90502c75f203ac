"""Loads scenario and incident files: all faults of a file at once, each with its place."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from pytest_soclab.errors import Fault, ScenarioError, nearest, quote
from pytest_soclab.record import Kind
from pytest_soclab.scenario import template
from pytest_soclab.scenario.faults import faults_of
from pytest_soclab.scenario.model import Incident, Publish, Scenario
from pytest_soclab.scenario.vocabulary import Vocabulary
from pytest_soclab.scenario.yaml_source import Document, read

MAX_INCIDENT_BYTES = 8 * 1_048_576
_TEMPLATED = ("given", "agent", "harness", "legitimate", "attack_succeeds_when")


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


def load_scenario(path: Path, vocabulary: Vocabulary, shown: str | None = None) -> LoadedScenario:
    """Load one scenario file.

    Raises:
        ScenarioError: with every fault of the file.
    """
    document = read(path, shown)
    try:
        scenario = Scenario.model_validate(document.value)
    except ValidationError as error:
        raise ScenarioError(*faults_of(error, Scenario, document), *_name_faults(path, document)) from None
    incident = find_incident(path, scenario.incident)
    faults = [*_name_faults(path, document), *_faults(scenario, document, vocabulary)]
    if incident is None:
        faults.append(_unknown_incident(path, scenario, document))
    if faults or incident is None:
        raise ScenarioError(*sorted(faults, key=lambda fault: (fault.line, fault.column)))
    return LoadedScenario(scenario, path, document.path, _digest(document.text), incident)


def load_incident(path: Path, vocabulary: Vocabulary, shown: str | None = None) -> LoadedIncident:
    """Load one incident file.

    Raises:
        ScenarioError: with every fault of the file.
    """
    document = read(path, shown, MAX_INCIDENT_BYTES)
    try:
        incident = Incident.model_validate(document.value)
    except ValidationError as error:
        raise ScenarioError(*faults_of(error, Incident, document)) from None
    faults = list(_table_faults(document.value["tables"], ("tables",), document, vocabulary))
    if incident.id != path.stem:
        faults.append(document.fault(("id",), f"found {quote(incident.id)}", f"the file's name, {path.stem!r}"))
    if faults:
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
    from pytest_soclab import resources

    yield from (parent / "incidents" for parent in list(scenario_path.parents)[:3])
    yield resources.scenarios() / "incidents"


def _unknown_incident(path: Path, scenario: Scenario, document: Document) -> Fault:
    names = {file.stem for folder in _incident_folders(path) if folder.is_dir() for file in folder.glob("*.yaml")}
    return document.fault(("incident",), f"no incident {scenario.incident!r}", "", nearest(scenario.incident, names))


def _name_faults(path: Path, document: Document) -> list[Fault]:
    declared = document.value.get("id")
    if not isinstance(declared, str) or path.stem == declared or path.stem.startswith(f"{declared}-"):
        return []
    expected = f"the start of the file's name, {path.name!r}"
    return [document.fault(("id",), f"found {quote(declared)}", expected, "rename the file or mend the id")]


def _faults(scenario: Scenario, document: Document, vocabulary: Vocabulary) -> Iterator[Fault]:
    yield from _table_faults(document.value.get("given", {}), ("given",), document, vocabulary)
    yield from _variant_faults(scenario, document)
    yield from _oracle_faults(scenario, document, vocabulary)
    yield from _harness_faults(scenario, document, vocabulary)
    yield from _call_faults(scenario, document, vocabulary)


def _table_faults(
    tables: Any, prefix: tuple[str | int, ...], document: Document, vocabulary: Vocabulary
) -> Iterator[Fault]:
    for path, found, expected, remedy in vocabulary.check_tables(tables):
        yield document.fault((*prefix, *path), found, expected, remedy)


def _variant_faults(scenario: Scenario, document: Document) -> Iterator[Fault]:
    common = frozenset.intersection(*(frozenset(fields) for fields in scenario.variants.values()))
    for name, fields in scenario.variants.items():
        extra = sorted(set(fields) - common)
        if extra:
            remedy = "give every variant the same fields"
            yield document.fault(
                ("variants", name, extra[0]), f"a field that not every variant has: {extra[0]!r}", "", remedy
            )
    used: set[str] = set()
    for key in _TEMPLATED:
        for path, text in template.templates_in(document.value.get(key), (key,)):
            found, remedy = template.problem(text, common)
            if found:
                yield document.fault(path, found, "", remedy)
            else:
                used.update(template.names(text))
    for field in sorted(common - used):
        place = ("variants", next(iter(scenario.variants)), field)
        yield document.fault(place, f"the field {field!r} is used nowhere", f"a {{{{ {field} }}}} in given or agent")
    if scenario.kind is Kind.ATTACK and not scenario.harness and not any(template.templates_in(scenario.given)):
        remedy = "put {{ payload }} where an agent that does its job reads it, or script harness steps"
        yield document.fault(("given",), "no payload is delivered", "a template in given", remedy)


def _oracle_faults(scenario: Scenario, document: Document, vocabulary: Vocabulary) -> Iterator[Fault]:
    for name, parameter in (scenario.attack_succeeds_when or {}).items():
        path = ("attack_succeeds_when", name)
        adapter = vocabulary.oracles.get(name)
        if adapter is None:
            yield document.fault(path, f"unknown oracle {quote(name)}", "", nearest(name, vocabulary.oracles))
            continue
        try:
            adapter.validate_python(parameter)
        except ValidationError as error:
            yield from faults_of(error, Scenario, document, path)


def _harness_faults(scenario: Scenario, document: Document, vocabulary: Vocabulary) -> Iterator[Fault]:
    for index, step in enumerate(scenario.harness):
        path = ("harness", index)
        model = vocabulary.harness.get(str(step.get("step")))
        if model is None:
            remedy = nearest(str(step.get("step", "")), vocabulary.harness)
            yield document.fault((*path, "step"), f"unknown harness step {quote(step.get('step', ''))}", "", remedy)
            continue
        try:
            model.model_validate(step)
        except ValidationError as error:
            yield from faults_of(error, model, document, path)


def _call_faults(scenario: Scenario, document: Document, vocabulary: Vocabulary) -> Iterator[Fault]:
    if scenario.stopped_by == "unknown_tool":
        return
    for key, steps in (("agent", scenario.agent), ("legitimate", scenario.legitimate)):
        for index, step in enumerate(steps):
            if not isinstance(step, Publish) and step.call not in vocabulary.tools:
                path = (key, index, "call")
                yield document.fault(path, f"unknown tool {quote(step.call)}", "", nearest(step.call, vocabulary.tools))


def validated_steps(scenario: Scenario, vocabulary: Vocabulary, fields: Mapping[str, str]) -> list[BaseModel]:
    """Return the harness steps of a variant as models."""
    return [vocabulary.harness[str(s["step"])].model_validate(template.render(s, fields)) for s in scenario.harness]
