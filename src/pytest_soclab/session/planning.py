"""What `--soclab-plan` does in place of running anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_soclab.audit.plan import plan
from pytest_soclab.options import distributes
from pytest_soclab.session import state
from pytest_soclab.session.items import ScenarioItem


def show(session: pytest.Session) -> None:
    """Say what the selected trials will take."""
    settings = state.of(session.config).lab().settings
    folder = Path(settings.previous or settings.artifacts)
    trials = [item.spec.trial for item in session.items if isinstance(item, ScenarioItem)]
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    reporter.section("soclab plan", "=")
    if distributes(session.config):
        reporter.write_line("this process collects nothing, its workers do; leave -n out")
        return
    if settings.adaptive:
        first = sum(item.spec.repetition == 1 for item in session.items if isinstance(item, ScenarioItem))
        why = "a repeat runs where it can change the level or a gate"
        reporter.write_line(f"at most {len(trials)} trials, {first} of them in the first round; {why}")
    for line in plan(trials, session.config.invocation_params.dir / folder).lines(folder):
        reporter.write_line(line)
