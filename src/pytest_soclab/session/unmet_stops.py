"""Says at load which scenarios name a stop that a user's policy has no rule for, before any of their trials runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from pytest_soclab.base.errors import SoclabError
from pytest_soclab.evidence.results import Arm
from pytest_soclab.policy.load import REASONS
from pytest_soclab.policy.model import PolicySource
from pytest_soclab.scenario.corpus import STOPS
from pytest_soclab.session import state
from pytest_soclab.session.items import ScenarioItem
from pytest_soclab.trials.lab import Lab

_SHOWN = 5


def lines(config: pytest.Config, items: Iterable[pytest.Item]) -> list[str]:
    """Return what to print after collection; nothing where the policy has a rule for every stop.

    A policy that composes its reasons has no rule that could be read, so nothing can be said of it.
    """
    lab = state.of(config).lab()
    if lab.settings.policies is None or config.option.collectonly:
        return []
    try:
        source = lab.engine().source
    except SoclabError:  # said as a usage error, right after this
        return []
    return list(_told(lab, source, items))


def _told(lab: Lab, source: PolicySource, items: Iterable[pytest.Item]) -> Iterator[str]:
    known = {rule.reason for rule in source.rules}
    wanted = {
        item.spec.loaded.scenario.id: item.spec.loaded.scenario.stopped_by
        for item in items
        if isinstance(item, ScenarioItem) and item.spec.arm is Arm.PROTECTED and not item.live
    }
    unmet = {name: stop for name, stop in wanted.items() if stop and stop not in known | STOPS}
    if not known or not unmet:
        return
    reasons, names = sorted({*unmet.values()} - {None}, key=str), sorted(unmet)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    yield (
        f"soclab: {lab.settings.policies} has no rule for {', '.join(map(str, reasons))}, so the `stopped_by` of "
        f"{', '.join(names[:_SHOWN])}{more} cannot be met"
    )
    place = f"{lab.settings.policies}/{REASONS}"
    yield f"soclab: write the rule, or say in {place} which reason of yours it is: {_line(reasons, source)}"


def _line(reasons: Iterable[object], source: PolicySource) -> str:
    own = next((rule.own or rule.reason for rule in source.rules), "your_reason")
    return f"`{own}: {next(iter(reasons))}`"
