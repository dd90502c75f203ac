"""The hooks to which pytest hands no config: they live on an object that holds it. Light: registered in every session."""

from __future__ import annotations

from typing import Any

import pytest


class Listener:
    """Forwards reports that carry a trial, scenario files that could not be read, and what xdist workers send."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in a trial's record."""
        if hasattr(report, "soclab"):
            from pytest_soclab import session

            session.record_report(self.config, report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Take in a scenario file that could not be read."""
        if report.failed and report.nodeid.endswith(".yaml"):
            from pytest_soclab import session

            session.record_collection(self.config, report)

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
