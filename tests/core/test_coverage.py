"""The intervals hold the true rate as often as the docs say, however alike the trials of a scenario are."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "statistics.md"
PROMISED = 0.94


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("coverage_of_intervals", ROOT / "benchmarks" / "coverage.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["decided, live", "decided, scripted", "shown"])
@pytest.mark.parametrize("size", [(20, 3), (71, 3)])
def test_an_interval_holds_the_rate_over_the_whole_grid(benchmark, name, size):
    assert benchmark.worst(benchmark.ESTIMATORS[name], size, 500) >= PROMISED


def test_the_grid_goes_from_independent_trials_to_ones_that_never_differ(benchmark):
    assert benchmark.CORRELATIONS[0] == 0
    assert benchmark.CORRELATIONS[-1] == 1
    assert (min(benchmark.RATES), max(benchmark.RATES)) == (0.02, 0.20)


def test_the_simulation_sees_an_interval_that_is_too_narrow(benchmark):
    assert benchmark.worst(benchmark.naive, (71, 3), 300) < 0.75


def test_two_runs_draw_the_same_sessions(benchmark):
    assert benchmark.draws(0.1, 0.5, 20, 3, 5) == benchmark.draws(0.1, 0.5, 20, 3, 5)
    assert benchmark.draws(0.1, 0.5, 20, 3, 5) != benchmark.draws(0.1, 0.25, 20, 3, 5)


def documented():
    rows = re.findall(r"^\| (\d+) × (\d+) \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {(int(n), int(m)): [float(cell.strip(" %")) for cell in cells.split("|")] for n, m, cells in rows}


def test_the_documented_table_has_every_size_and_keeps_the_promise(benchmark):
    found = documented()
    assert list(found) == list(benchmark.SIZES)
    for *kept, _naive in found.values():
        assert min(kept) >= 100 * PROMISED


def test_the_documented_table_is_what_the_benchmark_prints(benchmark):
    *_, row = benchmark.table(sizes=[(10, 3)])
    assert row in PAGE.read_text(encoding="utf-8")
