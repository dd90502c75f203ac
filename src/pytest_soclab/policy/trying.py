"""Compiles a policy and asks it once in a process of its own, so that a crash or a hang is a refusal and nothing more.

regopy is a library in C++: what its authors did not foresee ends the process that asks, and its compiler prints what is
wrong instead of saying so.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache, lru_cache

from pytest_soclab.base.errors import Fault, PolicyError
from pytest_soclab.policy.prepared import Ready

_LIMIT = 20.0  # seconds
_REMEDY = "if `opa check` accepts it, write it otherwise or let OPA decide (--soclab-opa-binary)"
_SCRIPT = """
import json, sys
from regopy import Interpreter
given = json.load(sys.stdin)
engine = Interpreter()
for name, text in given["modules"].items():
    engine.add_module(name, text)
engine.add_data_json(given["data"])
bundle = engine.build(None, [given["entrypoint"]])
if not bundle.ok():
    sys.exit(3)
engine.set_input_term("{}")
try:
    engine.query_bundle_entrypoint(bundle, given["entrypoint"])
except ValueError:
    sys.exit(4)
"""


def must_start(path: str) -> None:
    """Start the engine once in another process where the address space is limited.

    It reserves far more addresses than it ever uses, and ends the whole process where it does not get them.

    Raises:
        PolicyError: when it does not start.
    """
    limit = _address_limit()
    if limit is not None and not _starts():
        found = f"the embedded engine does not start with an address space of {limit // 2**20:,} MiB (ulimit -v)"
        remedy = "lift the limit (ulimit -v unlimited), bound memory by a container, or let OPA decide"
        raise PolicyError(Fault(found, path, remedy=f"{remedy} (--soclab-opa-binary)"))


def _address_limit() -> int | None:
    """Return the address space that this process may have, in bytes; None where nothing limits it."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


@cache
def _starts() -> bool:
    command = [sys.executable, "-c", "from regopy import Interpreter; Interpreter()"]
    try:
        return subprocess.run(command, capture_output=True, timeout=_LIMIT, check=False).returncode == 0  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return False


def try_out(ready: Ready, entrypoint: str) -> None:
    """Compile a policy and ask it about an empty input in another process.

    Raises:
        PolicyError: when that process ends otherwise than well, or does not end in time.
    """
    texts = tuple(ready.modules.items())
    status, words = _tried(texts, ready.data, entrypoint)
    if status != 0:
        raise PolicyError(_fault(ready, status, words))


@lru_cache(maxsize=64)
def _tried(texts: tuple[tuple[str, str], ...], data: str, entrypoint: str) -> tuple[int | None, str]:
    """Return the exit status of the process, None for none in time, and what it printed."""
    question = json.dumps({"modules": dict(texts), "data": data, "entrypoint": entrypoint})
    command = [sys.executable, "-c", _SCRIPT]
    try:
        done = subprocess.run(  # noqa: S603  # our own interpreter and text
            command, input=question, capture_output=True, text=True, timeout=_LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout + done.stderr


def _fault(ready: Ready, status: int | None, words: str) -> Fault:
    if status is None:
        return Fault(f"the embedded engine does not compile it within {_LIMIT:g} s", ready.path, remedy=_REMEDY)
    if status < 0:
        found = f"the embedded engine's process ends over it with signal {-status}"
        return Fault(found, ready.path, remedy=_REMEDY)
    if status == 4:
        return Fault("the answer to an empty input is unreadable", ready.path, remedy=_REMEDY)
    found_at = re.search(r"^(?P<what>[^\n]+)\n-- (?P<file>[^\n]+?):(?P<line>\d+):\d+$", words, re.MULTILINE)
    if found_at is not None:
        what, line = found_at["what"], int(found_at["line"])
        return Fault(f"does not compile in the embedded engine: {what}", found_at["file"], line, remedy=_REMEDY)
    return _syntax_fault(ready, words)


def _syntax_fault(ready: Ready, words: str) -> Fault:
    """Return a fault from regopy's `(error 9:some.rego|36|1 (errormsg 16:this is unclosed)`, the place in bytes."""
    found = re.search(r"(\d+):([^|\n]*)\|(\d+)\|\d+\s*\(errormsg \d+:(.*?)\)\s*\(errorast", words, re.DOTALL)
    if found is None:
        return Fault("does not compile in the embedded engine", ready.path, remedy=_REMEDY)
    file = found[2]
    line = ready.modules.get(file, "").encode()[: int(found[3])].count(b"\n") + 1
    return Fault(f"does not compile in the embedded engine: {found[4]}", file, line, remedy=_REMEDY)
