"""Exact odds of the known-answer gate: what luck alone reports, and what a real loss is seen with.

The model: every run finds an item with probability p, independently; an arm finds it when m of its n runs do.
"""

from __future__ import annotations


def arm_finds(p: float, m: int, n: int) -> float:
    """Return the probability that at least m of n runs find an item that each finds with probability p.

    Exact binomial survival function. Raises ValueError unless 0 <= p <= 1 and 1 <= m <= n.
    """
    from scipy.special import bdtrc

    if not (0 <= p <= 1 and 1 <= m <= n):
        raise ValueError(f"p = {p}, m = {m}, n = {n}: 0 <= p <= 1 and 1 <= m <= n are needed")
    return float(bdtrc(m - 1, n, p))


def reported_dropped(before: float, after: float, baseline: tuple[int, int], candidate: tuple[int, int]) -> float:
    """Return the probability that an item is reported dropped.

    `before` and `after` are its probabilities per run in the two arms; the arms are given as (m, n). The baseline has
    to find the item and the candidate must not.
    """
    return arm_finds(before, *baseline) * (1.0 - arm_finds(after, *candidate))


def at_least_one(probability: float, items: int) -> float:
    """Return the probability that at least one of `items` independent items is reported, each with `probability`."""
    return 1.0 - (1.0 - probability) ** items
