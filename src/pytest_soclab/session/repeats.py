"""Runs repeats round by round and leaves out those that can change nothing (`--soclab-adaptive`)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_soclab.assurance.adaptive import asked
from pytest_soclab.assurance.profile import load_profile
from pytest_soclab.assurance.repeats import Repeats
from pytest_soclab.base.errors import UsageError
from pytest_soclab.base.settings import Settings
from pytest_soclab.evidence.results import Level
from pytest_soclab.options import distributes
from pytest_soclab.session import state
from pytest_soclab.session.items import ScenarioItem


def planned(config: pytest.Config, settings: Settings) -> Settings:
    """Return the settings with the most trials of each variant that an adaptive session runs.

    Raises:
        UsageError: where no process sees all trials, or none that a level speaks of.
    """
    if not settings.adaptive:
        return settings
    found = "--soclab-adaptive decides by all trials so far"
    if distributes(config) or state.is_worker(config):
        raise UsageError(f"{found}, which no worker of pytest-xdist sees; leave -n or --soclab-adaptive out")
    if settings.shard is not None:
        raise UsageError(f"{found}, which no shard sees; leave --soclab-shard or --soclab-adaptive out")
    if settings.mode == "baseline":
        raise UsageError("--soclab-adaptive repeats for a level, and --soclab-mode=baseline gives none; leave one out")
    profile, _ = load_profile(settings.assurance_profile)
    most = settings.repeat if settings.repeat > 1 else asked(profile, Level(settings.level))
    return replace(settings, repeat=most)


def order(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put every first trial before every second one, and so on, each where a trial of a scenario stood."""
    if not state.of(config).lab().settings.adaptive:
        return
    places = [number for number, item in enumerate(items) if isinstance(item, ScenarioItem)]
    own = [item for item in items if isinstance(item, ScenarioItem)]
    for place, item in zip(places, sorted(own, key=lambda item: item.spec.repetition), strict=True):
        items[place] = item


def leave_out(item: ScenarioItem) -> None:
    """Skip a repeat that can change nothing, before any of its parts is made."""
    session, spec = state.of(item.config), item.spec
    if not item.lab.settings.adaptive or session.recorder is None or spec.repetition == 1:
        return
    if session.repeats is None:
        session.repeats = Repeats(session.recorder.facts, session.recorder.profile)
    scenario = spec.loaded.scenario
    if why := session.repeats.stops((scenario.id, spec.variant, spec.arm), scenario.kind):
        pytest.skip(f"a repeat can change nothing: {why}")
