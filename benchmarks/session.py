"""Where the time of a session of the bundled corpus goes, and of `pytest -k ATK-001`.

Run `python benchmarks/session.py [--quick] [--pairs N]`: medians of N fresh processes, without pytest-xdist. A part's
seconds are the processor's, taken inside the process; importing counts to the part that does it.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

from common import Run, arguments, folder, pytest_command, row, run

from pytest_soclab.base import resources

PROBE = """
import json, time
import pytest

spent, marks = {}, {"start": time.process_time()}

def part(name, since):
    marks[name] = time.process_time()
    spent[name] = marks[name] - marks[since]

@pytest.hookimpl(trylast=True)
def pytest_sessionstart():
    part("start", "start")
    spent["start"] = marks["start"]

@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    part("collection, policy", "start")

@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish():
    part("trials, self-checks", "collection, policy")

def pytest_unconfigure():
    part("results, report", "trials, self-checks")
    from pytest_soclab.session import recorder
    spent["  of it: the report"] = wrapped[0]
    print("probe:", json.dumps(spent))

wrapped = [0.0]

def pytest_collection_modifyitems():
    from pytest_soclab.session import recorder
    write = recorder.Recorder._write_report
    def _write_report(self, results):
        started = time.process_time()
        write(self, results)
        wrapped[0] = time.process_time() - started
    recorder.Recorder._write_report = _write_report
"""


def session(place: Path, *words: str) -> tuple[Run, dict[str, Any]]:
    """Run a session with the probe in it and return the seconds by part."""
    (place / "probe.py").write_text(PROBE, encoding="utf-8")
    artifacts = f"--soclab-artifacts={place / 'artifacts'}"
    done = run(pytest_command("-p", "probe", "-p", "no:cacheprovider", "-q", artifacts, *words), place)
    parts: dict[str, Any] = json.loads(done.output.rpartition("probe: ")[2].splitlines()[0])
    return done, parts


def show(place: Path, title: str, limit: float, times: int, *words: str) -> None:
    """Print a session's medians."""
    session(place, *words)
    done = [session(place, *words) for _ in range(times)]
    row(title, f"{median(one.clock for one, _ in done):.2f} s, {median(one.cpu for one, _ in done):.2f} s cpu",
        f"under {limit} s of the clock on two quiet cores")  # fmt: skip
    for name in done[0][1]:
        row(f"  {name}", f"{median(parts[name] for _, parts in done):.2f} s cpu")
    row("  peak of memory", f"{median(one.peak for one, _ in done) / 1024:.0f} MB")


def main() -> None:
    """Print both sessions."""
    options = arguments(__doc__)
    with folder() as place:
        corpus = str(resources.scenarios())
        show(place, "the bundled corpus, report included", 6, options.pairs, corpus)
        show(place, "pytest -k ATK-001", 1.5, options.pairs, "-k", "ATK-001", corpus)


if __name__ == "__main__":
    main()
