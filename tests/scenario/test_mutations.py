"""Whatever a file says, the loader answers with a scenario or with faults, and it does so soon."""

from __future__ import annotations

import copy
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from pytest_soclab.base.errors import Fault, ScenarioError
from pytest_soclab.scenario.load import load_incident, load_scenario

from .support import ATTACK, BAD, CONTROL, lab

HARNESS = (BAD / "harness_unknown.yaml").read_text(encoding="utf-8").replace("forge_grants", "forge_grant")
INCIDENT = (BAD / "incident_id_other_than_file.yaml").read_text(encoding="utf-8").replace("good", "bad")
SCENARIOS = [ATTACK, CONTROL, HARNESS]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.just("{{ payload }}"),
    st.just("+42m"),
)
keys = scalars.filter(
    lambda value: not (isinstance(value, float) and math.isnan(value))
)  # not-a-number would be a key twice
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=6
)
fast = settings(max_examples=150, deadline=2_000, suppress_health_check=[HealthCheck.too_slow])


def attempt(data: bytes, name: str) -> None:
    """Load bytes; anything but a result or a ScenarioError with printable faults fails the test."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        load = load_incident if name == "bad-incident.yaml" else load_scenario
        faults: Sequence[Fault | str] = [name]
        try:
            load(path, lab().vocabulary, name)
        except ScenarioError as error:
            faults = error.faults
    assert faults
    assert all(str(fault).startswith(name) and str(fault).isprintable() for fault in faults)


def name_of(text: str) -> str:
    return f"{text.split()[1]}.yaml"


def dumped(value: Any) -> bytes:
    with tempfile.TemporaryFile() as stream:
        YAML(typ="safe", pure=True).dump(value, stream)
        stream.seek(0)
        return stream.read()


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    own = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return own + [place for key, inner in items for place in places(inner, (*path, key))]


def mutated(root: Any, path: tuple[Any, ...], how: str, value: Any) -> Any:
    root = copy.deepcopy(root)
    parent = root
    for key in path[:-1]:
        parent = parent[key]
    match how:
        case "drop":
            del parent[path[-1]]
        case "retype":
            parent[path[-1]] = value
        case "nest":
            parent[path[-1]] = [parent[path[-1]]]
        case "typo" if isinstance(parent, dict):
            parent[f"{path[-1]}x"] = parent.pop(path[-1])
        case "add" if isinstance(parent, dict):
            parent["more"] = value
        case _:
            parent[path[-1]] = {"again": parent[path[-1]]}
    return root


@pytest.mark.parametrize("text", [*SCENARIOS, INCIDENT], ids=["attack", "control", "harness", "incident"])
def test_the_starting_points_are_valid(text: str, tmp_path: Path) -> None:
    path = tmp_path / name_of(text)
    path.write_text(text, encoding="utf-8")
    (load_incident if text is INCIDENT else load_scenario)(path, lab().vocabulary)


@fast
@given(st.data(), st.sampled_from([*SCENARIOS, INCIDENT]), st.integers(1, 3))
def test_changed_values_never_crash(data: st.DataObject, text: str, times: int) -> None:
    root = YAML(typ="safe", pure=True).load(text)
    for _ in range(times):
        path = data.draw(st.sampled_from(places(root) or [("id",)]))
        how = data.draw(st.sampled_from(["drop", "retype", "nest", "typo", "add", "wrap"]))
        root = mutated(root, path, how, data.draw(values)) if places(root) else root
    attempt(dumped(root), name_of(text))


@fast
@given(st.data(), st.sampled_from([*SCENARIOS, INCIDENT]))
def test_changed_text_never_crashes(data: st.DataObject, text: str) -> None:
    lines = text.splitlines(keepends=True)
    at = data.draw(st.integers(0, len(lines) - 1))
    how = data.draw(st.sampled_from(["drop", "double", "insert", "indent", "cut", "swap"]))
    match how:
        case "drop":
            del lines[at]
        case "double":
            lines.insert(at, lines[at])
        case "insert":
            lines[at] = data.draw(st.text(max_size=30)) + lines[at]
        case "indent":
            lines[at] = " " * data.draw(st.integers(1, 5)) + lines[at]
        case "cut":
            lines[at] = lines[at][: data.draw(st.integers(0, len(lines[at])))]
        case _:
            lines[at - 1], lines[at] = lines[at], lines[at - 1]
    attempt("".join(lines).encode("utf-8", "surrogatepass"), name_of(text))


@fast
@given(st.text(alphabet=st.sampled_from("abAT-0:1,[]{}'\"&*!|>%@`#?\t\n {{}}~.<=+"), max_size=120))
def test_random_yaml_never_crashes(text: str) -> None:
    attempt(text.encode(), "ATK-001.yaml")


@fast
@given(st.binary(max_size=200))
def test_random_bytes_never_crash(data: bytes) -> None:
    attempt(data, "ATK-001.yaml")


@fast
@given(st.text(max_size=60))
def test_random_templates_never_crash(text: str) -> None:
    root = YAML(typ="safe", pure=True).load(ATTACK)
    root["given"]["siem.events"][0]["message"] = "{{ payload }}" + text
    root["agent"][0]["args"]["query"] = "{{" + text + "}}"
    attempt(dumped(root), "ATK-001.yaml")
