"""What the benchmarks share: fresh processes measured by clock and processor, pairs, medians, a small table."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEAST_PAIRS = 7


@dataclass(frozen=True)
class Run:
    """A finished process: seconds of the clock, seconds of the processor, peak memory in kilobytes, what it said."""

    clock: float
    cpu: float
    peak: int
    output: str


def arguments(text: str | None) -> argparse.Namespace:
    """Read the arguments that every benchmark has."""
    parser = argparse.ArgumentParser(description=(text or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer or smaller rounds, for a first look")
    parser.add_argument("--pairs", type=int, default=LEAST_PAIRS, help=f"paired measurements, at least {LEAST_PAIRS}")
    options = parser.parse_args()
    options.pairs = 3 if options.quick else max(LEAST_PAIRS, options.pairs)
    return options


OTHERS = ("xdist", "xdist.looponfail", "pytest_cov", "hypothesispytest", "anyio", "playwright", "base_url")
"""Plugins that may be installed beside ours and would be measured with it."""


def environment() -> dict[str, str]:
    """Return an environment in which bytecode is cached, as on a user's machine."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONDONTWRITEBYTECODE", "CI")}


def run(command: Sequence[str], folder: Path, accepted: Sequence[int] = (0,)) -> Run:
    """Run a command to its end; any other exit status than the accepted ones ends the benchmark."""
    with tempfile.TemporaryFile("w+") as said:
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=said, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        clock = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        output = said.read()
    if process.returncode not in accepted:
        sys.exit(f"exit status {process.returncode} from {' '.join(command)}\n{output[-2000:]}")
    peak = used.ru_maxrss if sys.platform == "linux" else used.ru_maxrss // 1024
    return Run(clock, used.ru_utime + used.ru_stime, peak, output)


def pytest_command(*words: str, plugin: bool = True) -> list[str]:
    """Return a pytest command with our plugin or without it."""
    off = [*OTHERS, *([] if plugin else ["soclab"])]
    return [sys.executable, "-m", "pytest", *(word for name in off for word in ("-p", f"no:{name}")), *words]


def instructions(command: Sequence[str], folder: Path) -> int | None:
    """Return the instructions that a command executes, counted by valgrind; None where it is not installed."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return None
    env = {**environment(), "PYTHONHASHSEED": "0"}
    options = ["--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run(
        [valgrind, *options, *command], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    last = next(line for line in reversed(done.stderr.splitlines()) if "Collected" in line)
    return int(last.rpartition(":")[2])


@contextmanager
def folder() -> Iterator[Path]:
    """Give a folder that is gone afterwards, with an ini file so that pytest looks no higher."""
    with tempfile.TemporaryDirectory(prefix="soclab-bench-") as name:
        path = Path(name).resolve()
        (path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        yield path


def row(name: str, value: str, limit: str = "") -> None:
    """Print one line of the table."""
    print(f"{name:58} {value:>24}  {limit}", flush=True)
