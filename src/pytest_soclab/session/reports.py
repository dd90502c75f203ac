"""The hooks that pytest calls for every test, and the trial records that travel on its reports."""

from __future__ import annotations

from collections.abc import Generator
from functools import cached_property
from typing import Any

import pytest

from pytest_soclab.base.errors import SoclabError
from pytest_soclab.session import selection, state
from pytest_soclab.session.items import ScenarioItem
from pytest_soclab.session.reach_items import ReachItem

_REPORT_ATTRIBUTE = "soclab"


class Reports:
    """The hooks that pytest calls for every test; only a session that has scenarios pays for them."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.properties: dict[str, str] = {}
        """What a strict JUnit file says about the trials, by property and item."""

    @cached_property
    def strict(self) -> Any:
        """pytest's writer of a JUnit file after the xunit2 schema, else None; it is there once all is configured."""
        writers = [
            plugin for plugin in self.config.pluginmanager.get_plugins() if hasattr(plugin, "add_global_property")
        ]
        return next((writer for writer in writers if writer.family != "xunit1"), None)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let a trial's record travel on its report."""
        report = yield
        if isinstance(item, ScenarioItem):
            note_report(item, report)
        elif isinstance(item, ReachItem):
            note_reach(item, report)
        return report

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note that a scenario begins to run, in whatever process."""
        session = state.of(self.config)
        if session.recorder is not None and any(mark in nodeid for mark in ("::ATK-", "::BEN-", "::reach[")):
            session.recorder.began = True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Forget an item's attempts once it is over: pytest keeps items to the end, and a transcript is long."""
        done = yield
        if isinstance(item, ScenarioItem):
            item.attempts.clear()
        return done

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, None, None]:
        """Take in a trial's record; in a strict JUnit file no test case may have properties, so the suite gets them."""
        record_report(self.config, report)
        whole = report.user_properties
        if self.strict is not None:
            own = [(name, value) for name, value in whole if name.startswith("soclab.")]
            item = report.nodeid.rpartition("::")[2]
            self.properties.update({f"{name}:{item}": str(value) for name, value in own})
            report.user_properties = [pair for pair in whole if pair not in own]
        yield
        report.user_properties = whole

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Take out the plays that do not apply, once `-k` and the like have chosen."""
        try:
            selection.leave_out(self.config, items)
        except SoclabError as error:
            raise pytest.UsageError(*str(error).splitlines()) from None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Hand the properties over before pytest writes its file."""
        for name, value in self.properties.items():
            self.strict.add_global_property(name, value)


def note_report(item: ScenarioItem, report: pytest.TestReport) -> None:
    """Put the trial's record on the report that ends it: the call, or a setup that failed."""
    if report.when == "teardown":
        return
    if report.when == "setup" and report.skipped and not item.begun:
        setattr(report, _REPORT_ATTRIBUTE, {"skipped": item.nodeid})  # by a mark, or by a hook of a conftest
        return
    if report.when == "setup" and report.skipped:
        item.unfinished(_skipped(report))
    elif report.failed and len(item.attempts) == item.before:
        item.unfinished(_cause(report))
    if item.attempts:
        setattr(report, _REPORT_ATTRIBUTE, {"nodeid": item.nodeid, "attempts": list(item.attempts)})


def note_reach(item: ReachItem, report: pytest.TestReport) -> None:
    """Put an incident's reach on the report that ends it: the call, or a setup that failed."""
    if report.when == "call" and item.record is not None:
        setattr(report, _REPORT_ATTRIBUTE, item.record)
        item.record = None  # pytest keeps items to the end
    elif report.when in ("setup", "call") and report.failed:
        setattr(report, _REPORT_ATTRIBUTE, item.unfinished(_cause(report)))


def _cause(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(crash.message if crash is not None else report.longrepr).strip().splitlines()
    what = "set up" if report.when == "setup" else "run"
    return f"the trial could not be {what}: {text[0] if text else 'no reason was given'}"


def _skipped(report: pytest.TestReport) -> str:
    """Say why a trial was skipped by one of its fixtures: it was selected, and came to no verdict."""
    place = report.longrepr
    reason = place[2] if isinstance(place, tuple) else str(place)
    return f"skipped as it began: {reason.removeprefix('Skipped: ')}"


def record_report(config: pytest.Config, report: pytest.TestReport) -> None:
    """Take a report's record in, where this process aggregates."""
    payload = getattr(report, _REPORT_ATTRIBUTE, None)
    if state.is_worker(config):
        return
    recorder = state.recorder_of(config)
    if report.when not in ("setup", "call", "teardown"):  # pytest-xdist speaks for a worker that died
        recorder.crashed[report.nodeid] = str(report.longrepr).splitlines()[0]
    if payload is None:
        return
    if "skipped" in payload:
        recorder.skipped.add(payload["skipped"])
    else:
        recorder.add(payload, report.duration)
    delattr(report, _REPORT_ATTRIBUTE)  # the terminal keeps reports to the end
