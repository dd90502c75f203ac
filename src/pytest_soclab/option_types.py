"""Reads the values of options that are no plain text. Apart from `options`, so that an idle run need not import it."""

from __future__ import annotations

from argparse import ArgumentTypeError


def shard(text: str) -> tuple[int, int]:
    """Read `1/4`."""
    part, slash, whole = text.partition("/")
    if not (slash and part.isdigit() and whole.isdigit() and 1 <= int(part) <= int(whole)):
        raise ArgumentTypeError(f"found {text!r}, expected PART/WHOLE such as 1/4")
    return int(part), int(whole)


def positive(text: str) -> int:
    """Read a whole number from 1 on."""
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise ArgumentTypeError(f"found {text!r}, expected a whole number from 1 on")
    return int(text)


def seconds(text: str) -> float:
    """Read seconds, at most a day."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= 86_400:
        raise ArgumentTypeError(f"found {text!r}, expected seconds, more than 0 and at most 86400")
    return value


TYPES = {"N": positive, "M": positive, "PART/WHOLE": shard, "SECONDS": seconds}
"""By the name that help gives the value."""
