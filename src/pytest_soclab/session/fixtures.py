"""Makes the parts of the trial that is being run, which says so itself.

No fixture asks for `request`: pytest builds and inspects two functions for each that does, about 3 % of a trial's time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from pytest_soclab.base.errors import SoclabError
from pytest_soclab.evidence.ledger import Ledger
from pytest_soclab.fronts.protocol import Agent
from pytest_soclab.gateway.approvals import Approver
from pytest_soclab.gateway.gateway import EnforcementPoint
from pytest_soclab.policy.model import Engine
from pytest_soclab.session.items import ScenarioItem, running
from pytest_soclab.soc.world import World
from pytest_soclab.trials import trial

__all__ = ["Agent", "Approver", "EnforcementPoint", "Engine", "Ledger", "World"]
"""The types in the signatures of `plugin`, which cannot import them itself."""

T = TypeVar("T")


def _item(fixture: str) -> ScenarioItem:
    item = running()
    if item is None:
        test = os.environ.get("PYTEST_CURRENT_TEST", "another test").rpartition(" (")[0]
        pytest.fail(f"{fixture} belongs to scenario items, not to {test}", pytrace=False)
    return item


def _made(make: Callable[[], T]) -> T:
    """Return what `make` makes; an error of ours fails the trial with its faults and no traceback."""
    try:
        return make()
    except SoclabError as error:
        text = str(error)
    return pytest.fail(text, pytrace=False)


def world() -> World:
    """Return a fresh world of the trial's unit."""
    item = _item("soclab_world")
    return _made(lambda: item.unit.world())  # noqa: PLW0108  # making the unit may fail too


def policy() -> Engine | None:
    """Return the session's engine, None in the baseline arm."""
    item = _item("soclab_policy")
    return _made(item.lab.engine) if item.spec.arm.value == "protected" else None


def approver() -> Approver:
    """Return the approver that the scenario names."""
    item = _item("soclab_approver")
    return item.unit.approver()


def agent() -> Agent:
    """Return the agent that the options name, else the one that obeys the scenario's script."""
    item = _item("soclab_agent")
    return item.lab.brought or item.obey()


def transcript() -> Ledger:
    """Return an empty log."""
    return Ledger()


def gateway(agent: Any, world: Any, policy: Any, approver: Any, transcript: Any) -> EnforcementPoint:
    """Return the enforcement point between an agent and a world."""
    item = _item("soclab_gateway")
    if item.lab.brought is not None and agent is not item.lab.brought:
        pytest.fail("the options name an agent and the fixture soclab_agent another; take one of them away", False)
    unit, name, level = item.unit, item.spec.trial, item.lab.level
    state = _made(lambda: trial.state_of(unit, name, agent, world, level, transcript, item.lab.withheld))
    if policy is None:
        return trial.open_point(state)
    return trial.guarded_point(state, item.lab.key, trial.Control(policy, approver))
