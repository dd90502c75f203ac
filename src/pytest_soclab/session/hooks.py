"""The hooks of a session, on an object that holds its config, and what `register` adds beside them.

Light: the controller of pytest-xdist always has it, for only its workers see whether there is a scenario.
"""

from __future__ import annotations

from typing import Any

import pytest

from pytest_soclab.session import state

_NAME = "soclab-listener"


def register(config: pytest.Config) -> None:
    """Register marks and hooks, at the first call."""
    plugins = config.pluginmanager
    if plugins.has_plugin(_NAME):
        return
    plugins.register(Listener(config), _NAME)
    config.getini("markers").extend(state.MARKERS)


class Listener:
    """Forwards what happens in a session once there is something of ours in it."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.errors = {True: 0, False: 0}
        """Collection errors: of scenario files, of others."""

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Take in a scenario file that could not be read."""
        if not report.failed:
            return
        name = report.nodeid.rpartition("/")[2]
        ours = name.startswith(("ATK-", "BEN-")) and name.endswith(".yaml")
        self.errors[ours] += 1
        if ours:
            from pytest_soclab.session import lifecycle

            lifecycle.record_collection(self.config, report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Add the known-answer gate's items and keep this shard's scenarios."""
        if state.find(self.config):
            from pytest_soclab.session import lifecycle

            lifecycle.add_known_answers(session, items)
            lifecycle.select(self.config, items)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Load the policy before any trial runs."""
        if state.find(self.config):
            from pytest_soclab.session import lifecycle

            lifecycle.check(session)

    def pytest_report_collectionfinish(self, items: list[pytest.Item]) -> list[str]:
        """Say which scenarios' stops the policy has no rule for."""
        if not state.find(self.config):
            return []
        from pytest_soclab.session import unmet_stops

        return unmet_stops.lines(self.config, items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Let the other files run where only scenario files could not be read; the session fails all the same."""
        if self.errors[True] and not self.errors[False]:
            self.config.option.continue_on_collection_errors = True
        if self.config.option.soclab_plan and state.find(self.config):
            from pytest_soclab.session import planning

            planning.show(session)
            return True
        return None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Assemble the results and raise the exit status where a gate says so."""
        if state.find(self.config):
            from pytest_soclab.session import lifecycle

            lifecycle.finish(session)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write the terminal section."""
        if state.find(self.config):
            from pytest_soclab.session import lifecycle

            lifecycle.summarise(self.config, terminalreporter)

    def pytest_unconfigure(self) -> None:
        """Release the policy engine."""
        if state.find(self.config):
            from pytest_soclab.session import lifecycle

            lifecycle.close(self.config)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:  # noqa: ARG002 - the hook's signature
        """Take in what a worker sent before it ended."""
        output = getattr(node, "workeroutput", None)
        if output and "soclab" in output:
            from pytest_soclab.session import lifecycle

            lifecycle.worker_down(self.config, output)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:  # noqa: ARG002 - as above
        """Note what the workers are to run, so that a worker's death hides nothing."""
        if any(mark in name for name in ids for mark in ("::ATK-", "::BEN-", "::reach[")):
            from pytest_soclab.session import lifecycle

            lifecycle.expect(self.config, ids)
