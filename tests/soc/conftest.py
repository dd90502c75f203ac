"""The incidents as shipped, expanded once, and a way to call a tool as the executor does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from pytest_soclab.soc.build import Prepared, prepare
from pytest_soclab.soc.registry import Outcome, Tool
from pytest_soclab.soc.servers import registry
from pytest_soclab.soc.world import World

INCIDENTS = Path(__file__).resolve().parents[2] / "scenarios" / "incidents"

Call = Callable[..., Outcome]


@pytest.fixture(scope="session")
def incidents() -> dict[str, dict[str, Any]]:
    """Every incident file as plain data."""
    yaml = YAML(typ="safe")
    return {path.stem: yaml.load(path.read_text(encoding="utf-8")) for path in sorted(INCIDENTS.glob("*.yaml"))}


@pytest.fixture(scope="session")
def prepared(incidents: Mapping[str, Any]) -> dict[str, Prepared]:
    """Every incident expanded."""
    return {name: prepare(incident) for name, incident in incidents.items()}


@pytest.fixture
def world(prepared: Mapping[str, Prepared]) -> World:
    """A fresh world of the identity compromise."""
    return prepared["identity-compromise"].world()


@pytest.fixture
def call() -> Call:
    """Call a tool with raw arguments on a world."""

    def run(world: World, name: str, /, **arguments: Any) -> Outcome:
        tool = registry().tools[name]
        return tool.run(world, tool.arguments.model_validate(arguments))

    return run


@pytest.fixture(params=sorted(registry().tools))
def tool(request: pytest.FixtureRequest) -> Tool:
    """Each tool in turn."""
    return registry().tools[request.param]
