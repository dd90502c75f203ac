"""Says why a trial or a scenario file did not come to its end, and puts records on reports."""

from __future__ import annotations

from functools import partial

import pytest

from pytest_soclab.session.items import ScenarioItem, unfinished
from pytest_soclab.session.reach_items import ReachItem

REPORT_ATTRIBUTE = "soclab"
"""Where a trial's record travels on pytest's report."""


def note_report(item: ScenarioItem | ReachItem, report: pytest.TestReport) -> None:
    """Put the trial's record on the report that ends it: the call, or a setup that failed."""
    if report.when == "call" and item.record is not None:
        setattr(report, REPORT_ATTRIBUTE, item.record)
        item.record = None  # pytest keeps items to the end, and a transcript is long
    elif report.when in ("setup", "call") and report.failed:
        end = item.unfinished if isinstance(item, ReachItem) else partial(unfinished, item)
        setattr(report, REPORT_ATTRIBUTE, end(_cause(report)))
    elif isinstance(item, ScenarioItem) and report.when == "setup" and report.skipped:
        left_out = {"skipped": item.nodeid}  # by a mark, or by a hook of a conftest
        setattr(report, REPORT_ATTRIBUTE, unfinished(item, _skipped(report)) if item.begun else left_out)


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


def collection_error(report: pytest.CollectReport) -> str:
    """Return one line about a file that could not be read: its first fault, and how many there are."""
    crash = getattr(report.longrepr, "reprcrash", None)
    faults = [line for line in str(crash.message if crash is not None else report.longrepr).splitlines() if line]
    if crash is not None or len(faults) < 2:
        return faults[0] if faults else f"{report.nodeid}: no reason was given"
    return f"{report.nodeid}: {len(faults)} faults, first: {faults[0].removeprefix(report.nodeid).lstrip(':')}"
