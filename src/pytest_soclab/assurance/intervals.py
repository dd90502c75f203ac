"""Wilson score intervals: the one place where a proportion gets its bounds."""

from __future__ import annotations

from functools import cache
from math import sqrt

from pytest_soclab.evidence.results import Measured, NoData, Proportion

CONFIDENCE = 0.95


@cache
def _z() -> float:
    """Return the two-sided normal quantile; importing `scipy.special` for this one number would take 0.3 s."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)


def wilson(k: int, n: int) -> tuple[float, float]:
    """Return the Wilson 95 % interval of `k` of `n` as two fractions (Wilson, 1927; without continuity correction).

    Raises:
        ValueError: unless 0 <= k <= n and n > 0.
    """
    if not 0 <= k <= n or n == 0:
        raise ValueError(f"{k} of {n} is no proportion")
    z = _z()
    p, spread = k / n, 1 + z * z / n
    centre = (p + z * z / (2 * n)) / spread
    half = z / spread * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low = 0.0 if k == 0 else max(0.0, centre - half)
    high = 1.0 if k == n else min(1.0, centre + half)
    return low, high


def proportion(k: int, n: int) -> Proportion:
    """Return `k` of `n` with its interval, or that there is no data."""
    if n == 0:
        return NoData()
    low, high = wilson(k, n)
    return Measured(k=k, n=n, low=low, high=high)


def units_for(bound: float, k: int = 0, most: int = 100_000) -> int:
    """Return the least n at which the upper end for `k` of n is at most `bound`, or `most` where that is not enough.

    The upper end for a fixed k falls as n grows, so a bisection finds it.
    """
    low, high = max(k, 1), most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if wilson(k, middle)[1] <= bound else (middle + 1, high)
    return low
