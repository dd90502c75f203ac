"""Writes a bound in percent, rounded so that no printed bound is better than the real one."""

from __future__ import annotations

import math
from decimal import Decimal


def percent(fraction: float, *, up: bool = True) -> str:
    """Return a fraction in percent to the tenth: an upper bound rounded up, a lower one down."""
    exact = Decimal(repr(fraction)) * 1_000  # the decimal that the number is written as: no binary dust
    tenths = math.ceil(exact) if up else math.floor(exact)
    return f"{tenths // 10} %" if tenths % 10 == 0 else f"{tenths / 10:.1f} %"
