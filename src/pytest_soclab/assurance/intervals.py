"""Gives a proportion its bounds: Wilson, Clopper–Pearson, and Korn–Graubard for trials that come in clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import sqrt

from pytest_soclab.evidence.results import Measured, Method, NoData, Proportion

CONFIDENCE = 0.95
Interval = Callable[[int, int], tuple[float, float]]


@cache
def _z() -> float:
    """Return the two-sided normal quantile; importing `scipy.special` for this one number would take 0.3 s."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)


def _no_proportion(k: float, n: float) -> ValueError:
    return ValueError(f"{k} of {n} is no proportion")


def wilson(k: int, n: int) -> tuple[float, float]:
    """Return the Wilson 95 % interval of `k` of `n` as two fractions (Wilson, 1927; without continuity correction).

    Raises:
        ValueError: unless 0 <= k <= n and n > 0.
    """
    if not 0 <= k <= n or n == 0:
        raise _no_proportion(k, n)
    z = _z()
    p, spread = k / n, 1 + z * z / n
    centre = (p + z * z / (2 * n)) / spread
    half = z / spread * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low = 0.0 if k == 0 else max(0.0, centre - half)
    high = 1.0 if k == n else min(1.0, centre + half)
    return low, high


def clopper_pearson(k: float, n: float) -> tuple[float, float]:
    """Return the exact 95 % interval of `k` of `n` (Clopper and Pearson, 1934); neither has to be a whole number.

    Raises:
        ValueError: unless 0 <= k <= n and n > 0.
    """
    if not 0 <= k <= n or n <= 0:
        raise _no_proportion(k, n)
    tail = (1 - CONFIDENCE) / 2
    if k == 0:  # closed forms: most sessions need no more, and are spared the import
        return 0.0, 1 - tail ** (1 / n)
    if k == n:
        return tail ** (1 / n), 1.0
    from scipy.special import betaincinv

    return float(betaincinv(k, n - k + 1, tail)), float(betaincinv(k + 1, n - k, 1 - tail))


Cluster = tuple[int, int]
"""The trials of one scenario: how many were hits, of how many."""


def korn_graubard(clusters: Sequence[Cluster]) -> tuple[float, float]:
    """Return the 95 % interval of a rate over trials that come in clusters (Korn and Graubard, 1998).

    It is the Clopper–Pearson interval at the effective sample size. Where no trial is a hit, or every one, that size
    is the number of clusters: nothing then shows how alike the trials of a cluster are.

    Raises:
        ValueError: where there is no trial, or a cluster has more hits than trials.
    """
    if any(not 0 <= k <= n for k, n in clusters):
        raise ValueError(f"{clusters!r} are no hits of trials")
    size = effective_size(clusters)
    hits, trials = sum(k for k, _ in clusters), sum(n for _, n in clusters)
    return clopper_pearson(size * hits / trials, size)


def effective_size(clusters: Sequence[Cluster]) -> float:
    """Return how many independent trials know as much as these; at most all of them.

    The variance of the rate is that between clusters, and the few degrees of freedom that it is measured with are
    paid for by the quotient of two t quantiles. Korn and Graubard take the clusters less one for these degrees; where
    few clusters have a hit, they alone tell the variance, so twice their number is the most (benchmarks/coverage.py:
    else the interval holds the rate in 90 % of cases only).

    Raises:
        ValueError: where there is no trial.
    """
    some = [(k, n) for k, n in clusters if n]
    hits, trials, groups = sum(k for k, _ in some), sum(n for _, n in some), len(some)
    if not trials:
        raise _no_proportion(0, 0)
    if hits in {0, trials} or groups in {1, trials}:
        return float(groups)
    p = hits / trials
    variance = groups / (groups - 1) * sum((k - p * n) ** 2 for k, n in some) / trials**2
    if variance == 0:
        return float(trials)
    telling = 2 * min(sum(k > 0 for k, _ in some), sum(k < n for k, n in some))
    return min(float(trials), p * (1 - p) / variance * _paid(min(groups - 1, telling), trials))


def _paid(degrees: int, trials: int) -> float:
    from scipy.special import stdtrit

    at = 0.5 + CONFIDENCE / 2
    return float((stdtrit(trials - 1, at) / stdtrit(degrees, at)) ** 2)


INTERVALS: dict[Method, Interval] = {Method.WILSON: wilson, Method.CLOPPER_PEARSON: clopper_pearson}


def proportion(k: int, n: int, method: Method = Method.WILSON) -> Proportion:
    """Return `k` of `n` with its interval, or that there is no data."""
    if n == 0:
        return NoData()
    low, high = INTERVALS[method](k, n)
    return Measured(k=k, n=n, low=low, high=high, method=method)


def clustered(clusters: Sequence[Cluster]) -> Proportion:
    """Return the rate over all trials of some clusters with its Korn–Graubard interval, or that there is no data."""
    hits, trials = sum(k for k, _ in clusters), sum(n for _, n in clusters)
    if trials == 0:
        return NoData()
    low, high = korn_graubard(clusters)
    return Measured(k=hits, n=trials, low=low, high=high, method=Method.KORN_GRAUBARD)


def units_for(bound: float, k: int = 0, most: int = 100_000, method: Method = Method.WILSON) -> int:
    """Return the least n at which the upper end for `k` of n is at most `bound`, or `most` where that is not enough.

    The upper end for a fixed k falls as n grows, so a bisection finds it.
    """
    low, high = max(k, 1), most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if INTERVALS[method](k, middle)[1] <= bound else (middle + 1, high)
    return low
