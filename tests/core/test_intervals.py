"""Bounds: the interval, how many units a bound needs, and how a bound is printed."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from pytest_soclab.assurance import intervals, words
from pytest_soclab.assurance.intervals import (
    clopper_pearson,
    effective_size,
    korn_graubard,
    proportion,
    units_for,
    wilson,
)
from pytest_soclab.evidence.results import Measured, Method, NoData

from .support import red

COUNTS = st.integers(1, 100_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
EDGES = [(0, 1), (1, 1), (0, 35), (35, 35), (1, 2), (0, 100_000), (100_000, 100_000), (99_999, 100_000)]


def check_wilson(k: int, n: int) -> None:
    theirs = binomtest(k, n).proportion_ci(confidence_level=0.95, method="wilson")
    assert wilson(k, n) == pytest.approx((theirs.low, theirs.high), rel=1e-9, abs=1e-12)


@given(COUNTS)
def test_the_closed_form_is_scipys(counts):
    check_wilson(*counts)


@pytest.mark.parametrize("counts", EDGES)
def test_the_closed_form_is_scipys_at_the_edges(counts):
    check_wilson(*counts)


@given(COUNTS)
def test_an_interval_holds_its_proportion_and_stays_between_0_and_1(counts):
    low, high = wilson(*counts)
    assert 0 <= low <= counts[0] / counts[1] <= high <= 1


@given(st.integers(0, 50), st.integers(1, 5_000))
def test_one_more_clean_unit_always_lowers_the_upper_bound(k, n):
    assert wilson(k, k + n + 1)[1] < wilson(k, k + n)[1]


@pytest.mark.parametrize("counts", [(1, 0), (0, 0), (-1, 5), (6, 5)])
def test_what_is_no_proportion_has_no_interval(counts):
    with pytest.raises(ValueError, match="is no proportion"):
        wilson(*counts)


def test_0_of_0_is_no_data_and_has_no_number():
    assert proportion(0, 0) == NoData()
    assert not hasattr(NoData(), "high")
    assert isinstance(proportion(0, 1), Measured)


@pytest.mark.parametrize(("bound", "needed"), [(0.10, 35), (0.05, 73), (0.20, 16), (0.30, 9), (0.15, 22)])
def test_the_default_bounds_need_the_published_numbers(bound, needed):
    assert units_for(bound) == needed


@given(st.floats(0.001, 0.99), st.integers(0, 20))
def test_units_for_is_the_least_number(bound, k):
    needed = units_for(bound, k)
    if needed == 100_000:
        assert wilson(k, needed - 1)[1] > bound
        return
    assert wilson(k, needed)[1] <= bound
    assert needed <= max(k, 1) or wilson(k, needed - 1)[1] > bound


# The exact interval, and the one for trials that come in clusters


def check_exact(k: int, n: int) -> None:
    theirs = binomtest(k, n).proportion_ci(confidence_level=0.95, method="exact")
    assert clopper_pearson(k, n) == pytest.approx((theirs.low, theirs.high), rel=1e-9, abs=1e-12)


@given(COUNTS)
def test_the_exact_interval_is_scipys(counts):
    check_exact(*counts)


@pytest.mark.parametrize("counts", EDGES)
def test_the_exact_interval_is_scipys_at_the_edges(counts):
    check_exact(*counts)


@pytest.mark.parametrize("counts", [(1, 0), (0, 0), (-1, 5), (6, 5), (0.1, 0)])
def test_what_is_no_proportion_has_no_exact_interval(counts):
    with pytest.raises(ValueError, match="is no proportion"):
        clopper_pearson(*counts)


@pytest.mark.parametrize(("bound", "needed"), [(0.10, 36), (0.05, 72), (0.20, 17)])
def test_the_exact_bounds_need_other_numbers(bound, needed):
    assert units_for(bound, method=Method.CLOPPER_PEARSON) == needed


CLUSTERS = st.lists(st.integers(1, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1)


@given(CLUSTERS)
def test_clustered_trials_never_know_more_than_independent_ones(clusters):
    hits, trials = sum(k for k, _ in clusters), sum(n for _, n in clusters)
    low, high = korn_graubard(clusters)
    plain_low, plain_high = clopper_pearson(hits, trials)
    assert low <= plain_low + 1e-9
    assert high >= plain_high - 1e-9
    assert low - 1e-9 <= hits / trials <= high + 1e-9


def check_no_success(trials_each: int) -> None:
    assert korn_graubard([(0, trials_each)] * 30) == clopper_pearson(0, 30)
    assert korn_graubard([(trials_each, trials_each)] * 30) == clopper_pearson(30, 30)


@pytest.mark.parametrize("trials_each", [1, 2, 10])
def test_without_a_success_the_scenarios_are_counted_and_not_the_trials(trials_each):
    check_no_success(trials_each)


@given(st.integers(1, 30), st.integers(1, 30))
def test_single_trials_are_not_clustered(k, clean):
    assert korn_graubard([(1, 1)] * k + [(0, 1)] * clean) == pytest.approx(clopper_pearson(k, k + clean))


def check_repeats() -> None:
    """Ten repeats that always end as the first one did are worth no more than one."""
    once = effective_size([(1, 1)] * 3 + [(0, 1)] * 27)
    assert 0.6 * once < effective_size([(10, 10)] * 3 + [(0, 10)] * 27) <= once


def test_repeats_of_what_never_varies_are_worth_one_trial():
    check_repeats()


def test_the_effective_size_is_the_one_worked_out_by_hand():
    # Five clusters of 4: the hits' squared distances from their mean of 1.2 are 1.44, 1.44, 0.04, 0.04 and 7.84.
    clusters = [(0, 4), (0, 4), (1, 4), (1, 4), (4, 4)]
    assert sum((k - 0.3 * 4) ** 2 for k, _ in clusters) == pytest.approx(10.8)
    by_hand = 0.3 * 0.7 / (5 / 4 * 10.8 / 400) * (2.093024 / 2.776445) ** 2
    assert effective_size(clusters) == pytest.approx(by_hand, rel=1e-5)


@pytest.mark.parametrize("clusters", [[], [(0, 0)], [(2, 1)], [(-1, 1)]])
def test_no_trial_has_no_clustered_interval(clusters):
    with pytest.raises(ValueError, match=r"is no proportion|no hits of trials"):
        korn_graubard(clusters)


def test_a_scripted_session_without_a_success_imports_no_scipy():
    code = "from pytest_soclab.assurance.intervals import clustered; clustered([(0, 3)] * 9)"
    check = f"{code}; import sys; assert not any(name.startswith('scipy') for name in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)


def check_percent(fraction: float) -> None:
    printed = Fraction(words.percent(fraction).removesuffix(" %")) / 100
    exact = Fraction(repr(fraction))
    assert exact <= printed < exact + Fraction(1, 1000)


@given(st.floats(0, 1))
def test_a_printed_bound_is_never_better_than_the_real_one(fraction):
    check_percent(fraction)


@given(COUNTS)
def test_a_printed_upper_bound_is_never_better_than_the_real_one(counts):
    check_percent(wilson(*counts)[1])


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(0.1, "10 %"), (0.07, "7 %"), (0.29, "29 %"), (0.1000001, "10.1 %"), (0.0, "0 %"), (1.0, "100 %")],
)
def test_round_bounds_are_printed_round(fraction, text):
    assert words.percent(fraction) == text


def test_sabotage_of_the_interval_is_seen(monkeypatch):
    monkeypatch.setattr(intervals, "_z", lambda: 1.64)
    red(check_wilson, 0, 35)
    red(test_the_default_bounds_need_the_published_numbers, 0.10, 35)


def test_sabotage_of_the_rounding_is_seen(monkeypatch):
    monkeypatch.setattr(words, "percent", lambda fraction: f"{fraction * 100:.1f} %")
    red(check_percent, 0.10001)


def test_sabotage_of_the_clustering_is_seen(monkeypatch):
    monkeypatch.setattr(intervals, "effective_size", lambda clusters: float(sum(n for _, n in clusters)))
    red(check_no_success, 10)
    monkeypatch.setattr(intervals, "CONFIDENCE", 0.9)
    red(check_exact, 3, 50)
