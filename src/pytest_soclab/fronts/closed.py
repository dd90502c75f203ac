"""Closes this process's memory and variables to others of the same user while an agent runs, where the system can."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_SET, _GET = 4, 3  # prctl(2): PR_SET_DUMPABLE, PR_GET_DUMPABLE


@contextmanager
def closed() -> Iterator[None]:
    """Keep other processes from reading this one through /proc (Linux); one that runs as root reads it all the same."""
    before = _prctl(_GET, 0)
    _prctl(_SET, 0)
    try:
        yield
    finally:
        _prctl(_SET, before)


def _prctl(option: int, value: int) -> int:
    """Return what the system says, 0 where there is no such call."""
    if not sys.platform.startswith("linux"):
        return 0
    return int(ctypes.CDLL(None).prctl(option, value, 0, 0, 0))
