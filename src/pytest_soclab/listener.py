"""The hooks to which pytest hands no config: they live on an object that holds it; light, for every session has it."""

from __future__ import annotations

from typing import Any

import pytest


class Listener:
    """Forwards scenario files that could not be read, and what xdist workers send."""

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
            from pytest_soclab import session

            session.record_collection(self.config, report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Let the other files run where only scenario files could not be read; the session fails all the same."""
        if self.errors[True] and not self.errors[False]:
            self.config.option.continue_on_collection_errors = True

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:  # noqa: ARG002 - the hook's signature
        """Take in what a worker sent before it ended."""
        output = getattr(node, "workeroutput", None)
        if output and "soclab" in output:
            from pytest_soclab import session

            session.worker_down(self.config, output)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:  # noqa: ARG002 - as above
        """Note what the workers are to run, so that a worker's death hides nothing."""
        if any("::ATK-" in name or "::BEN-" in name for name in ids):
            from pytest_soclab import session

            session.expect(self.config, ids)
