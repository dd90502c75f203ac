"""Bounds: the interval, how many units a bound needs, and how a bound is printed."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from pytest_soclab.assurance import intervals, ladder
from pytest_soclab.assurance.intervals import proportion, units_for, wilson
from pytest_soclab.evidence.results import Measured, NoData

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


def check_percent(fraction: float) -> None:
    printed = Fraction(ladder._percent(fraction).removesuffix(" %")) / 100
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
    assert ladder._percent(fraction) == text


def test_sabotage_of_the_interval_is_seen(monkeypatch):
    monkeypatch.setattr(intervals, "_z", lambda: 1.64)
    red(check_wilson, 0, 35)
    red(test_the_default_bounds_need_the_published_numbers, 0.10, 35)


def test_sabotage_of_the_rounding_is_seen(monkeypatch):
    monkeypatch.setattr(ladder, "_percent", lambda fraction: f"{fraction * 100:.1f} %")
    red(check_percent, 0.10001)
