"""The hooks that other plugins implement. Light: every pytest run that has the plugin installed imports this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pluggy import HookspecMarker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_soclab.public import Oracle, Play, Registry, Step, Tool

hookspec = HookspecMarker("pytest")


@hookspec
def pytest_soclab_tools() -> Iterable[Tool]:  # type: ignore[empty-body]  # a hook specification has no body
    """Return more tools for the simulated SOC; names must be new."""


@hookspec
def pytest_soclab_oracles(registry: Registry) -> Iterable[Oracle]:  # type: ignore[empty-body]  # as above
    """Return more oracles that `attack_succeeds_when` may name; names must be new, the gate a mandatory one."""


@hookspec
def pytest_soclab_harness_steps() -> Iterable[type[Step]]:  # type: ignore[empty-body]  # as above
    """Return more harness steps: models with a `step: Literal[...]` field; names must be new."""


@hookspec
def pytest_soclab_plays() -> Iterable[Play]:  # type: ignore[empty-body]  # as above
    """Return more ways to play each attack; names must be new."""


@hookspec
def pytest_soclab_trial(trial: dict[str, Any]) -> None:
    """Look at a finished trial's record, in the process that aggregates the session."""
