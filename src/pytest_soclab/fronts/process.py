"""One process of an agent with all that it starts: its output is read and bounded, and in the end nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_soclab.base.clock import monotonic, sleep

KEPT = 16_384
"""Bytes of each output that are kept: the last ones."""
MOST_OUTPUT = 16 * 1_048_576
"""An agent that writes more is ended."""
_PATIENCE = 1.0  # seconds from the polite signal to the one that cannot be ignored
_PIECE = 65_536


class Output:
    """The end of what a process wrote to one pipe; reads on in a thread, so that the process never waits for it."""

    def __init__(self, handle: int, flooded: Callable[[], None]) -> None:
        self._handle, self._flooded = handle, flooded
        self._kept = bytearray()
        self.size = 0
        self._thread = threading.Thread(target=self._read, name="soclab-output", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while piece := self._piece():
            below = self.size <= MOST_OUTPUT
            self.size += len(piece)
            self._kept += piece
            del self._kept[:-KEPT]
            if below and self.size > MOST_OUTPUT:
                self._flooded()
        os.close(self._handle)

    def _piece(self) -> bytes:
        try:
            return os.read(self._handle, _PIECE)
        except OSError:
            return b""

    def text(self, seconds: float) -> str:
        """Return the kept end, after the pipe's own end or so many seconds."""
        self._thread.join(seconds)
        return bytes(self._kept).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Start:
    """What is started: the words, where, with which variables, what it reads; `mark` stands in the variables alone."""

    words: Sequence[str]
    folder: Path
    variables: Mapping[str, str]
    given: str
    mark: str
    user: str | None = None


class Process:
    """A started command.

    Raises:
        OSError: when it cannot be started.
    """

    def __init__(self, start: Start, flooded: Callable[[], None]) -> None:
        self._mark = start.mark.encode()
        self._popen = subprocess.Popen(  # noqa: S603 - the user names the command
            start.words, cwd=start.folder, env=dict(start.variables), start_new_session=True, **_rights(start.user),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
        )  # fmt: skip
        self.stdout, self.stderr = (self._output(pipe, flooded) for pipe in (self._popen.stdout, self._popen.stderr))
        threading.Thread(target=self._give, args=(start.given.encode(),), name="soclab-input", daemon=True).start()

    @staticmethod
    def _output(pipe: object, flooded: Callable[[], None]) -> Output:
        handle = os.dup(pipe.fileno())  # type: ignore[attr-defined]  # a pipe of Popen
        pipe.close()  # type: ignore[attr-defined]  # as above
        return Output(handle, flooded)

    def _give(self, text: bytes) -> None:
        """Write the input; a process that never reads costs this thread alone."""
        pipe = self._popen.stdin
        assert pipe is not None  # it was asked for
        try:
            pipe.write(text)
            pipe.close()
        except OSError:
            return

    def wait(self) -> int:
        """Wait for the command's own end and return its status, negative for a signal."""
        return self._popen.wait()

    def others(self) -> list[int]:
        """Return the processes that the command started and that still run."""
        return [pid for pid in living(self._popen.pid, self._mark) if pid != self._popen.pid]

    def wait_for_others(self, seconds: float) -> int:
        """Wait until nothing that the command started runs any more; return how many processes still do."""
        until = monotonic() + seconds
        while (left := self.others()) and monotonic() < until:
            sleep(0.01)
        return len(left)

    def end(self) -> None:
        """End the command and everything that it started, by the polite signal and then by the other one."""
        if self._popen.poll() is None or self.others():
            self._signal(signal.SIGTERM)
            until = monotonic() + _PATIENCE
            while (self._popen.poll() is None or self.others()) and monotonic() < until:
                sleep(0.01)
        for _ in range(_ROUNDS):  # what forks while it is being looked for is found in the next round
            self._signal(signal.SIGKILL)
            if self._popen.poll() is not None and not self.others():
                break
            sleep(0.01)
        self._popen.wait()

    def _signal(self, number: int) -> None:
        own = [self._popen.pid] if self._popen.poll() is None else []
        for pid in (*own, *self.others()):
            try:
                os.kill(pid, number)
            except OSError:  # it ended by itself
                continue


_ROUNDS = 200


def _rights(user: str | None) -> dict[str, Any]:
    """Return what makes a process another user's, in that user's group alone."""
    if user is None:
        return {}
    import pwd

    entry = pwd.getpwnam(user)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


_PROC = Path("/proc")


def living(session: int, mark: bytes) -> Iterator[int]:
    """Yield the processes of a session, and those whose variables hold the mark; zombies are none.

    Without a /proc (macOS) only the process group is seen, as its leader.
    """
    if not (_PROC / "self" / "stat").exists():
        yield from _leader(session)
        return
    for entry in os.scandir(_PROC):
        if entry.name.isdigit() and _belongs(Path(entry.path), session, mark):
            yield int(entry.name)


def _leader(session: int) -> Iterator[int]:
    try:
        os.killpg(session, 0)
        yield -session  # as `kill` names the group
    except OSError:
        return


def _belongs(folder: Path, session: int, mark: bytes) -> bool:
    try:
        after_name = (folder / "stat").read_bytes().rpartition(b")")[2].split()
        if after_name[0] in (b"Z", b"X"):
            return False
        return int(after_name[3]) == session or mark in (folder / "environ").read_bytes()
    except (OSError, IndexError, ValueError):  # it ended, or is another user's
        return False
