"""The pytest11 entry: hooks and fixtures that only forward.

Every pytest run pays for it, each further module the most, so whatever can wait is imported when it is needed: once a
scenario or an option of ours appears. `listener.register` then adds marks and the hooks of a session.
(PYTEST_DONT_REWRITE: nothing is asserted here.)
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_soclab.session.fixtures import Agent, Approver, Door, Engine, Ledger, World


def _plainly(name: str) -> Any:
    """Import a light module of ours past pytest's assertion rewriter, which reads bytecode a few bytes at a time."""
    spec: Any = PathFinder.find_spec(name, [__file__.rpartition("/")[0]])
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


options = _plainly("pytest_soclab.options")


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the options, the ini values and the hooks that other plugins implement."""
    options.add_options(parser)
    pluginmanager.add_hookspecs(options)


def pytest_configure(config: pytest.Config) -> None:
    """Register the rest where it is listed or will be needed, and let options name what is collected."""
    given = options.any_given(config)
    if given or options.lists_or_distributes(config):
        from pytest_soclab.session import hooks

        hooks.register(config)
    if given:
        from pytest_soclab.session import lifecycle

        lifecycle.prepare(config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect `ATK-*.yaml` and `BEN-*.yaml`, and touch no other file."""
    if file_path.suffix != ".yaml" or not file_path.name.startswith(("ATK-", "BEN-")):
        return None
    from pytest_soclab.session import lifecycle

    return lifecycle.collect_file(file_path, parent)


@pytest.fixture
def soclab_world() -> World:
    """The simulated SOC of this trial: the incident with the scenario's own records."""
    from pytest_soclab.session import fixtures

    return fixtures.world()


@pytest.fixture
def soclab_policy() -> Engine | None:
    """The policy engine of the session; None in the baseline arm, which has no control plane."""
    from pytest_soclab.session import fixtures

    return fixtures.policy()


@pytest.fixture
def soclab_approver() -> Approver:
    """The human in the loop, as the scenario names it."""
    from pytest_soclab.session import fixtures

    return fixtures.approver()


@pytest.fixture
def soclab_agent() -> Agent:
    """The agent under test; override it to bring your own. The default obeys the scenario's script."""
    from pytest_soclab.session import fixtures

    return fixtures.agent()


@pytest.fixture
def soclab_transcript() -> Ledger:
    """The trial's hash-chained log."""
    from pytest_soclab.session import fixtures

    return fixtures.transcript()


@pytest.fixture
def soclab_gateway(
    soclab_agent: Any, soclab_world: Any, soclab_policy: Any, soclab_approver: Any, soclab_transcript: Any
) -> Door:
    """The door between agent and world: the policy gateway, or the open door of the baseline arm."""
    from pytest_soclab.session import fixtures

    return fixtures.gateway(soclab_agent, soclab_world, soclab_policy, soclab_approver, soclab_transcript)
