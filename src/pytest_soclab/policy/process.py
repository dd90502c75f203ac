"""Starts a real OPA server for a session on a free loopback port, and stops it with the session."""

from __future__ import annotations

import atexit
import http.client
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from pytest_soclab.base.clock import monotonic, sleep
from pytest_soclab.base.errors import UsageError, quote

READY = 10.0
"""Seconds in which a started server must be ready."""
_ATTEMPTS = 3  # another process can take the free port before OPA does
_REMEDY = "install OPA 1.x, or give --soclab-opa-binary its path, or leave the option out for the embedded engine"
_END_WITH_PARENT = (
    "import ctypes, os, signal, sys\n"
    "ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG, kept across exec\n"
    "os.getppid() == int(sys.argv[1]) or sys.exit(1)\n"
    "os.execv(sys.argv[2], sys.argv[2:])"
)
"""Ends the server when this process is killed; elsewhere than on Linux `atexit` must do."""


@dataclass(slots=True)
class OpaProcess:
    """A running `opa run --server`; it ends with `stop`, with this process, or with the `with` block."""

    process: subprocess.Popen[bytes]
    port: int
    log: IO[bytes]

    @property
    def url(self) -> str:
        """The server's address."""
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        """End the server; a second call does nothing."""
        atexit.unregister(self.stop)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()

    def __enter__(self) -> OpaProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start_opa(binary: str) -> OpaProcess:
    """Start `opa run --server` with no policy on a free loopback port and wait until it is ready.

    Raises:
        UsageError: when there is no such program, it ends at once, or is not ready within `READY` seconds.
    """
    program = _program(binary)
    for attempt in range(_ATTEMPTS):
        server = _launch(program, _free_port())
        if _ready(server):
            atexit.register(server.stop)
            return server
        words = _last_words(server)
        server.stop()
        if "address already in use" not in words or attempt == _ATTEMPTS - 1:
            raise UsageError(f"{program} did not become a ready OPA server within {READY:g} s: {words}; {_REMEDY}")
    raise AssertionError("the loop returns or raises")


def _program(binary: str) -> str:
    found = shutil.which(binary)
    if found is not None:
        return found
    path = Path(binary)
    why = "is no program that may be run" if path.exists() else "does not exist"
    raise UsageError(f"the OPA binary {quote(binary)} {why}; {_REMEDY}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _launch(program: str, port: int) -> OpaProcess:
    command = [program, "run", "--server", "--addr", f"127.0.0.1:{port}", "--log-level", "error", "--disable-telemetry"]
    if sys.platform == "linux":
        command = [sys.executable, "-I", "-S", "-c", _END_WITH_PARENT, str(os.getpid()), *command]
    log = tempfile.TemporaryFile()  # noqa: SIM115  # it lives as long as the server; `stop` closes it
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)  # noqa: S603  # the user's own
    return OpaProcess(process, port, log)


def _ready(server: OpaProcess) -> bool:
    end = monotonic() + READY
    while monotonic() < end and server.process.poll() is None:
        if _healthy(server.port):
            return server.process.poll() is None
        sleep(0.02)
    return False


def _healthy(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1.0)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _last_words(server: OpaProcess) -> str:
    server.log.seek(0)
    lines = server.log.read().decode(errors="replace").strip().splitlines()
    ended = server.process.poll()
    return quote(lines[-1]) if lines else "it is silent" if ended is None else f"it ended with status {ended}"
