"""The embedded engine: regopy, one bundle compiled per session and queried by its entry point.

The input is built through regopy's C interface rather than `Input(value)`: that leaves quotes, backslashes and control
characters in a string unescaped and cuts it at a NUL, so that a value could pass for another or break the answer. It
is also twice as fast, and unlike `set_input_term` linear in the length of a list (100,000 items: 0.3 s against 33 s).
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, Literal

from pytest_soclab.base.clock import monotonic
from pytest_soclab.base.errors import Fault, PolicyError, PolicyUnavailable, quote
from pytest_soclab.policy.answer import parse_answer
from pytest_soclab.policy.load import MAX_INTEGER, parse_modules
from pytest_soclab.policy.model import ENTRYPOINT, Decision, PolicySource
from pytest_soclab.policy.probes import PROBES
from pytest_soclab.policy.rego_text import Module
from pytest_soclab.policy.vetting import vet

TIMEOUT = 5.0
_MAX_DEPTH = 100  # brackets that an input may nest; the engine walks it recursively
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_COMPILE_LIMIT = 30.0  # seconds for the process that asks the compiler for its words
_COMPILER_WORDS = (
    "import json, sys; from regopy import Interpreter; r = Interpreter(); d = json.load(sys.stdin)\n"
    "for name, text in d['modules'].items(): r.add_module(name, text)\n"
    "r.build(None, [d['entrypoint']])"
)


class EmbeddedEngine:
    """Decides with regopy. regopy cannot be interrupted: an answer later than `timeout` seconds counts as none."""

    kind: Literal["embedded", "server"] = "embedded"
    address: str | None = None

    def __init__(self, source: PolicySource, timeout: float = TIMEOUT) -> None:
        """Vet and compile a policy.

        Raises:
            PolicyError: when it does not compile, or uses what this engine lacks or reads otherwise than OPA.
        """
        self.source = source
        self.timeout = timeout
        modules = parse_modules(source.path, source.modules)
        self._interpreter = _interpreter()
        try:
            _compile_modules(self._interpreter, modules)
            faults = vet(list(modules.values()), works)
            if faults:
                raise PolicyError(*faults)
            self._interpreter.add_data_json(json.dumps(source.data, ensure_ascii=False))
            self._bundle = _bundle(self._interpreter, modules, source.path)
            self._try_out()
        except BaseException:
            self.close()
            raise

    def decide(self, document: Mapping[str, Any]) -> Decision:
        """Return the decision on an input; raises PolicyUnavailable where there is no readable answer in time."""
        started = monotonic()
        answer = self._ask(document)
        taken = monotonic() - started
        if taken > self.timeout:
            raise PolicyUnavailable(f"the policy answered after {taken:.1f} s, expected at most {self.timeout:g} s")
        return parse_answer(answer)

    def close(self) -> None:
        """Release the interpreter and the bundle; every later question is unanswered."""
        self._bundle = self._interpreter = None

    def _ask(self, document: Mapping[str, Any]) -> Any:
        if self._bundle is None:
            raise PolicyUnavailable("the policy engine is closed")
        self._interpreter.set_input(_input(document))
        try:
            output = self._interpreter.query_bundle_entrypoint(self._bundle, ENTRYPOINT)
        except ValueError:  # the answer is no JSON
            raise PolicyUnavailable("the policy's answer is unreadable") from None
        if not output.ok():
            raise PolicyUnavailable("the policy failed: a builtin refused its arguments, or a rule has two values")
        values = output[0].expressions if len(output) else []
        if len(values) != 1:
            raise PolicyUnavailable("the policy's decision is undefined")
        return values[0]

    def _try_out(self) -> None:
        """Ask once about an empty input: rules that refer to each other in a ring give an unreadable answer."""
        try:
            self._ask({})
        except PolicyUnavailable as error:
            if "unreadable" in str(error):
                raise PolicyError(
                    Fault(
                        "the answer to an empty input is unreadable", self.source.path,
                        remedy="look for rules that depend on themselves; `opa check --strict` names them",
                    )
                ) from None  # fmt: skip


def _interpreter() -> Any:
    from regopy import Interpreter, LogLevel

    interpreter = Interpreter()
    interpreter.log_level = LogLevel.NONE
    interpreter.strict_built_in_errors = True
    return interpreter


@cache
def works(builtin: str) -> bool:
    """Tell whether a builtin's expression with a known answer holds in this engine."""
    interpreter = _interpreter()
    interpreter.add_module("probe.rego", f"package probe\n\nholds if {PROBES[builtin]}\n")
    bundle = interpreter.build(None, ["probe/holds"])
    if not bundle.ok():
        return False
    try:
        return bool(interpreter.query_bundle_entrypoint(bundle, "probe/holds")[0].expressions == [True])
    except (ValueError, IndexError):
        return False


def _compile_modules(interpreter: Any, modules: Mapping[str, Module]) -> None:
    from regopy import RegoError

    faults = []
    for module in modules.values():
        try:
            interpreter.add_module(module.file, module.text)
        except RegoError as error:
            faults.append(_syntax_fault(module, str(error)))
    if faults:
        raise PolicyError(*faults)


def _syntax_fault(module: Module, message: str) -> Fault:
    """Return a fault from regopy's `(error 9:some.rego|36|1 (errormsg 16:this is unclosed)`, the place in bytes."""
    found = re.search(r"\|(\d+)\|\d+\s*\(errormsg \d+:(.*?)\)\s*\(errorast", message, re.DOTALL)
    offset, words = (int(found[1]), found[2]) if found else (0, message.splitlines()[0] if message else "")
    line = module.text.encode()[:offset].count(b"\n") + 1
    return Fault(
        f"does not compile in the embedded engine: {words}", module.file, line,
        remedy="if `opa check` accepts it, see docs/policy.md, or use the server engine (--soclab-opa-url)",
    )  # fmt: skip


def _bundle(interpreter: Any, modules: Mapping[str, Module], path: str) -> Any:
    bundle = interpreter.build(None, [ENTRYPOINT])
    if not bundle.ok():  # querying such a bundle ends the process
        raise PolicyError(_build_fault(modules, path))
    return bundle


def _build_fault(modules: Mapping[str, Module], path: str) -> Fault:
    """Return a fault with the compiler's words, which it only prints: another process is asked to print them."""
    question = json.dumps({"modules": {m.file: m.text for m in modules.values()}, "entrypoint": ENTRYPOINT})
    command = [sys.executable, "-c", _COMPILER_WORDS]
    try:
        done = subprocess.run(  # noqa: S603  # our own interpreter and text
            command, input=question, capture_output=True, text=True, timeout=_COMPILE_LIMIT, check=False
        )
        words = done.stdout + done.stderr
    except (OSError, subprocess.TimeoutExpired):
        words = ""
    found = re.search(r"^(?P<what>[^\n]+)\n-- (?P<file>[^\n]+?):(?P<line>\d+):\d+$", words, re.MULTILINE)
    if found is None:
        return Fault("does not compile in the embedded engine", path, remedy="`opa check --strict` may name the place")
    return Fault(f"does not compile in the embedded engine: {found['what']}", found["file"], int(found["line"]))


def _input(document: Mapping[str, Any]) -> Any:
    from regopy import Input
    from regopy.rego_shared import rego as library
    from regopy.rego_shared import rego_new_input

    holder = Input.__new__(Input)  # frees what it holds
    holder._impl = rego_new_input()
    _Filler(library, holder._impl).put(document, _MAX_DEPTH)
    return holder


class _Filler:
    """Pushes a JSON value on an engine's input, each string in its escaped form (as data and literals have it).

    A question has some two hundred values, so the loop over an object's items tells the frequent kinds apart itself.
    """

    def __init__(self, library: Any, into: Any) -> None:
        self._into = into
        self._string, self._integer, self._float = library.regoInputString, library.regoInputInt, library.regoInputFloat
        self._boolean, self._null = library.regoInputBoolean, library.regoInputNull
        self._item, self._object, self._array = (
            library.regoInputObjectItem,
            library.regoInputObject,
            library.regoInputArray,
        )

    def put(self, value: Any, depth: int) -> None:
        """Push one value.

        Raises:
            PolicyUnavailable: when it is nothing that engines decide on reliably.
        """
        if self._put(value, depth):
            raise PolicyUnavailable("the engine did not take the input")

    def _put(self, value: Any, depth: int) -> Any:
        """Push one value and return the engine's status, zero where it took everything."""
        kind = type(value)
        if kind is str:
            return self._string(self._into, _text(value))
        if kind is bool:
            return self._boolean(self._into, value)
        if kind is int and -MAX_INTEGER <= value <= MAX_INTEGER:
            return self._integer(self._into, value)
        if kind is dict and depth:
            return self._put_object(value, depth - 1)
        if kind is list and depth:
            return self._put_array(value, depth - 1)
        return self._put_rare(value)

    def _put_rare(self, value: Any) -> Any:
        if value is None:
            return self._null(self._into)
        if type(value) is float and math.isfinite(value):
            return self._float(self._into, value)
        found = f"more than {_MAX_DEPTH} levels" if type(value) in (dict, list) else quote(value)
        raise PolicyUnavailable(f"the input holds {found}, on which no engine decides reliably")

    def _put_object(self, value: Mapping[str, Any], depth: int) -> Any:
        into, string, boolean, end = self._into, self._string, self._boolean, self._item
        status = 0
        for key, item in value.items():
            if type(key) is not str:
                raise PolicyUnavailable(f"the input holds {quote((key,))}, on which no engine decides reliably")
            status |= string(into, _text(key))
            kind = type(item)
            if kind is str:
                status |= string(into, _text(item))
            elif kind is bool:
                status |= boolean(into, item)
            else:
                status |= self._put(item, depth)
            status |= end(into)
        return status | self._object(into, len(value))

    def _put_array(self, value: list[Any], depth: int) -> Any:
        status = 0
        for item in value:
            status |= self._put(item, depth)
        return status | self._array(self._into, len(value))


def _text(value: str) -> bytes:
    return _short(value) if len(value) <= _SHORT else _escaped(value)


_SHORT = 64  # characters of a text whose form is kept: names, and values that come again


@lru_cache(maxsize=4096)
def _short(value: str) -> bytes:
    return _escaped(value)


def _escaped(value: str) -> bytes:
    try:
        return (json.dumps(value, ensure_ascii=False)[1:-1] if _ESCAPED.search(value) else value).encode()
    except UnicodeEncodeError:
        raise PolicyUnavailable(f"the input holds {quote(value)}, which is no Unicode text") from None
