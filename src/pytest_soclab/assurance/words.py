"""Writes what level and report both say: a bound in percent, never better than the real one, and a gate's name."""

from __future__ import annotations

import math
from decimal import Decimal


def percent(fraction: float, *, up: bool = True) -> str:
    """Return a fraction in percent to the tenth: an upper bound rounded up, a lower one down."""
    exact = Decimal(repr(fraction)) * 1_000  # the decimal that the number is written as: no binary dust
    tenths = math.ceil(exact) if up else math.floor(exact)
    return f"{tenths // 10} %" if tenths % 10 == 0 else f"{tenths / 10:.1f} %"


def gate_name(name: str) -> str:
    """Return a gate's name as a reader knows it: that of the saved record is older than the word."""
    return "scenario self-checks" if name == "scenario_witnesses" else name.replace("_", " ")
