"""The `soclab_*` fixtures: the parts of one trial, each overridable; light, for every session has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from pytest_soclab.agents.protocol import Agent
    from pytest_soclab.collection import ScenarioItem
    from pytest_soclab.gateway.approvals import Approver
    from pytest_soclab.gateway.gateway import Door
    from pytest_soclab.ledger import Ledger
    from pytest_soclab.policy.model import Engine
    from pytest_soclab.soc.world import World

T = TypeVar("T")


def _item(request: pytest.FixtureRequest) -> ScenarioItem:
    from pytest_soclab.collection import ScenarioItem

    if not isinstance(request.node, ScenarioItem):
        pytest.fail(f"{request.fixturename} belongs to scenario items, not to {request.node.nodeid}", pytrace=False)
    return request.node


def _made(make: Callable[[], T]) -> T:
    """Return what `make` makes; an error of ours fails the trial with its faults and no traceback."""
    from pytest_soclab.errors import SoclabError

    try:
        return make()
    except SoclabError as error:
        text = str(error)
    return pytest.fail(text, pytrace=False)


@pytest.fixture
def soclab_world(request: pytest.FixtureRequest) -> World:
    """The simulated SOC of this trial: the incident with the scenario's own records."""
    item = _item(request)
    return _made(lambda: item.unit.world())  # noqa: PLW0108  # making the unit may fail too


@pytest.fixture
def soclab_policy(request: pytest.FixtureRequest) -> Engine | None:
    """The policy engine of the session; None in the baseline arm, which has no control plane."""
    item = _item(request)
    return _made(item.lab.engine) if item.spec.arm.value == "protected" else None


@pytest.fixture
def soclab_approver(request: pytest.FixtureRequest) -> Approver:
    """The human in the loop, as the scenario names it."""
    return _item(request).unit.approver()


@pytest.fixture
def soclab_agent(request: pytest.FixtureRequest) -> Agent:
    """The agent under test; override it to bring your own. The default obeys the scenario's script."""
    return _item(request).unit.obey()


@pytest.fixture
def soclab_transcript() -> Ledger:
    """The trial's hash-chained log."""
    from pytest_soclab.ledger import Ledger

    return Ledger()


@pytest.fixture
def soclab_gateway(  # noqa: PLR0917  # a fixture asks for its parts by name
    request: pytest.FixtureRequest,
    soclab_agent: Any,
    soclab_world: Any,
    soclab_policy: Any,
    soclab_approver: Any,
    soclab_transcript: Any,
) -> Door:
    """The door between agent and world: the policy gateway, or the open door of the baseline arm."""
    from pytest_soclab import trial

    item = _item(request)
    own, level = item.unit, item.lab.level
    state = _made(lambda: trial.state_of(own, item.spec.trial, soclab_agent, soclab_world, level, soclab_transcript))
    if soclab_policy is None:
        return trial.open_door(state)
    return trial.guarded_door(state, item.lab.key, trial.Control(soclab_policy, soclab_approver))
