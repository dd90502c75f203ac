"""Ends a process whose agents left threads behind that would keep it for ever.

Python waits at its end for every thread that is no daemon, and for those of thread pools even if they are. An agent
that timed out inside such a thread is lost already; what waits for it is only the process.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable

_GRACE = 1.0
"""Seconds that threads have to end by themselves once the main thread is through."""


def watch(known: frozenset[int], status: Callable[[], int]) -> bool:
    """Let the process end soon after its main thread, where threads other than the known ones are left.

    Returns whether there are any. Nothing happens as long as the main thread has work, so that whoever runs pytest
    within a program of their own is not cut short.
    """
    left = [t for t in threading.enumerate() if t.ident not in known and t is not threading.current_thread()]
    if not left:
        return False
    threading.Thread(target=_end, args=(left, status), name="soclab-end", daemon=True).start()
    return True


def _end(left: list[threading.Thread], status: Callable[[], int]) -> None:
    threading.main_thread().join()
    for thread in left:
        thread.join(_GRACE / len(left))
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # a reader that left
            stream.flush()
    if any(thread.is_alive() for thread in left):
        os._exit(status())
