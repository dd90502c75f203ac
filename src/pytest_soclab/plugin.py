"""The pytest11 entry: hooks and fixtures that only forward.

Every pytest run pays for it, so whatever can wait is imported when it is needed: once a scenario or an option of ours
appears. `hooks.register` then adds marks and the hooks of a session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_soclab import options
from pytest_soclab.session import hookspecs

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_soclab.session.fixtures import Agent, Approver, EnforcementPoint, Engine, Ledger, World


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the options, the ini values and the hooks that other plugins implement."""
    options.add_options(parser)
    pluginmanager.add_hookspecs(hookspecs)


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
    """Collect `ATK-*.yaml`, `BEN-*.yaml` and the incidents of their corpus, and touch no other file."""
    if file_path.suffix != ".yaml":
        return None
    if not file_path.name.startswith(("ATK-", "BEN-")) and not options.is_incident(file_path):
        return None
    from pytest_soclab.session import hooks, lifecycle

    hooks.register(parent.config)
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
) -> EnforcementPoint:
    """The enforcement point between agent and world: the policy gateway, or the open one of the baseline."""
    from pytest_soclab.session import fixtures

    return fixtures.gateway(soclab_agent, soclab_world, soclab_policy, soclab_approver, soclab_transcript)
