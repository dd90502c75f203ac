"""How long an agent is waited for, and what becomes of the threads of one that was not waited for any longer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from queue import Empty as Nothing
from queue import SimpleQueue
from types import FrameType
from typing import Any

from pytest_soclab.base.clock import monotonic

_SLICE = 0.25
"""Seconds between two looks for a debugger."""
_DEBUGGERS = {"bdb", "pdb", "ipdb", "pudb", "debugpy", "pydevd", "_pydevd_bundle", "pydevd_bundle"}


class Patience:
    """What an agent sends, for as long as it may work; time in a debugger is not the agent's."""

    def __init__(self, requests: SimpleQueue[Any], timeout: float) -> None:
        self._requests = requests
        self._until = monotonic() + timeout

    def get(self) -> Any:
        """Return the next message. Raises queue.Empty when the time is over."""
        while (left := self._until - monotonic()) > 0:
            began = monotonic()
            try:
                return self._requests.get(timeout=min(left, _SLICE))
            except Nothing:
                if debugging():
                    self._until += monotonic() - began
        raise Nothing


def debugging() -> bool:
    """Tell whether any thread of this process stands in a debugger: `breakpoint()`, `--trace`, an editor's."""
    if not any(name in sys.modules for name in _DEBUGGERS):
        return False
    return any(_package(frame) in _DEBUGGERS for top in sys._current_frames().values() for frame in _outward(top))


def _outward(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def leave_behind() -> None:
    """Let the process end without the pools of threads that an agent began, which nobody waits for any longer.

    An agent runs in a daemon thread, and threads that it starts are daemons too. Yet Python waits at its end for all
    threads of `concurrent.futures`, daemons as well, through a table that lists them; it has no other way to be told.
    """
    pools: Any = sys.modules.get("concurrent.futures.thread")
    waited_for = getattr(pools, "_threads_queues", {})
    for thread in [thread for thread in waited_for if thread.daemon]:
        del waited_for[thread]
