"""The `soclab_*` fixtures: the parts of one trial, each overridable; light, for every session has them."""

from __future__ import annotations

import os
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


def _made(make: Callable[[], T]) -> T:
    """Return what `make` makes; an error of ours fails the trial with its faults and no traceback."""
    from pytest_soclab.errors import SoclabError

    try:
        return make()
    except SoclabError as error:
        text = str(error)
    return pytest.fail(text, pytrace=False)


class Parts:
    """Makes the parts of the trial that is being run, which says so itself.

    None asks for `request`: pytest inspects a new function for each fixture that does, a tenth of a trial's time.
    """

    def __init__(self) -> None:
        self.running: ScenarioItem | None = None

    def _item(self, fixture: str) -> ScenarioItem:
        if self.running is None:
            test = os.environ.get("PYTEST_CURRENT_TEST", "other tests").rpartition(" (")[0]
            pytest.fail(f"{fixture} belongs to scenario items, not to {test}", pytrace=False)
        return self.running

    @pytest.fixture
    def soclab_world(self) -> World:
        """The simulated SOC of this trial: the incident with the scenario's own records."""
        item = self._item("soclab_world")
        return _made(lambda: item.unit.world())  # noqa: PLW0108  # making the unit may fail too

    @pytest.fixture
    def soclab_policy(self) -> Engine | None:
        """The policy engine of the session; None in the baseline arm, which has no control plane."""
        item = self._item("soclab_policy")
        return _made(item.lab.engine) if item.spec.arm.value == "protected" else None

    @pytest.fixture
    def soclab_approver(self) -> Approver:
        """The human in the loop, as the scenario names it."""
        return self._item("soclab_approver").unit.approver()

    @pytest.fixture
    def soclab_agent(self) -> Agent:
        """The agent under test; override it to bring your own. The default obeys the scenario's script."""
        return self._item("soclab_agent").unit.obey()

    @pytest.fixture
    def soclab_transcript(self) -> Ledger:
        """The trial's hash-chained log."""
        from pytest_soclab.ledger import Ledger

        return Ledger()

    @pytest.fixture
    def soclab_gateway(
        self,
        soclab_agent: Any,
        soclab_world: Any,
        soclab_policy: Any,
        soclab_approver: Any,
        soclab_transcript: Any,
    ) -> Door:
        """The door between agent and world: the policy gateway, or the open door of the baseline arm."""
        from pytest_soclab import trial

        item = self._item("soclab_gateway")
        unit, name, level = item.unit, item.spec.trial, item.lab.level
        state = _made(lambda: trial.state_of(unit, name, soclab_agent, soclab_world, level, soclab_transcript))
        if soclab_policy is None:
            return trial.open_door(state)
        return trial.guarded_door(state, item.lab.key, trial.Control(soclab_policy, soclab_approver))
