"""Hooks that other plugins and conftest files may implement to extend the closed sets of the lab."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_soclab.harness import Step
    from pytest_soclab.oracles import Oracle
    from pytest_soclab.soc.registry import Registry, Tool


@pytest.hookspec
def pytest_soclab_tools() -> Iterable[Tool]:  # type: ignore[empty-body]  # a hook specification has no body
    """Return more tools for the simulated SOC; names must be new."""


@pytest.hookspec
def pytest_soclab_oracles(registry: Registry) -> Iterable[Oracle]:  # type: ignore[empty-body]  # as above
    """Return more oracles that `attack_succeeds_when` may name."""


@pytest.hookspec
def pytest_soclab_harness_steps() -> Iterable[type[Step]]:  # type: ignore[empty-body]  # as above
    """Return more harness steps: models with a `step: Literal[...]` field and `prepare`/`perform` methods."""


@pytest.hookspec
def pytest_soclab_trial(trial: dict[str, Any]) -> None:
    """Look at a finished trial's record, in the process that aggregates the session."""
