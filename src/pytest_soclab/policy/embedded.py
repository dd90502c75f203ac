"""The embedded engine: regopy, one bundle compiled per session and queried by its entry point.

The input is built through regopy's C interface rather than `Input(value)`: that leaves quotes, backslashes and control
characters in a string as they are and cuts it at a NUL, so that a value could pass for another or break the answer. It
is also twice as fast, and unlike `set_input_term` linear in the length of a list (100,000 items: 0.3 s against 33 s).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, Literal

from pytest_soclab.base.clock import monotonic
from pytest_soclab.base.errors import Fault, PolicyError, PolicyUnavailable, quote
from pytest_soclab.policy.answer import parse_answer
from pytest_soclab.policy.checked import BUNDLED_DIGEST, UNCHECKED, check
from pytest_soclab.policy.load import MAX_INTEGER
from pytest_soclab.policy.model import ENTRYPOINT, Decision, PolicySource
from pytest_soclab.policy.plain_text import inward, outward
from pytest_soclab.policy.prepared import Ready, prepare
from pytest_soclab.policy.probes import PROBES
from pytest_soclab.policy.rego_stream import REMEDY
from pytest_soclab.policy.trying import must_start, try_out

TIMEOUT = 5.0
_MAX_DEPTH = 100  # brackets that an input may nest; the engine walks it recursively


class EmbeddedEngine:
    """Decides with regopy. regopy cannot be interrupted: an answer later than `timeout` seconds counts as none."""

    kind: Literal["embedded", "server"] = "embedded"
    address: str | None = None

    def __init__(
        self, source: PolicySource, timeout: float = TIMEOUT, *, checked_by: str = UNCHECKED, tried: bool = False
    ) -> None:
        """Vet, try out and compile a policy; `tried` for one that is a tried one with something left out.

        Raises:
            PolicyError: when it does not compile, or holds what is not proved to be decided here as by OPA.
        """
        self.source = source
        self.timeout = timeout
        ready = prepare(source.path, source.modules, source.data)
        must_start(source.path)
        _must_work(ready)
        self.checked_by = checked_by
        self._whole_numbers = ready.calculates
        if checked_by != BUNDLED_DIGEST and not tried:
            try_out(ready, ENTRYPOINT)
        self._interpreter = _interpreter()
        try:
            self._bundle = compile_texts(self._interpreter, ready, ENTRYPOINT)
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
        return parse_answer(answer, self.source.names)

    def close(self) -> None:
        """Release the interpreter and the bundle; every later question is unanswered."""
        self._bundle = self._interpreter = None

    def _ask(self, document: Mapping[str, Any]) -> Any:
        if self._bundle is None:
            raise PolicyUnavailable("the policy engine is closed")
        self._interpreter.set_input(engine_input(document, whole_numbers=self._whole_numbers))
        return ask(self._interpreter, self._bundle, ENTRYPOINT)


def checked_engine(source: PolicySource) -> EmbeddedEngine:
    """Return an engine for a policy that OPA has checked where one is at hand.

    Raises:
        PolicyError: when OPA or the engine refuses the policy.
    """
    return EmbeddedEngine(source, checked_by=check(source))


def ask(interpreter: Any, bundle: Any, entrypoint: str) -> Any:
    """Return the answer at an entry point about the input that was set.

    Raises:
        PolicyUnavailable: when there is none, several, or no readable one.
    """
    try:
        output = interpreter.query_bundle_entrypoint(bundle, entrypoint)
    except ValueError:  # the answer is no JSON
        raise PolicyUnavailable("the policy's answer is unreadable") from None
    if not output.ok():
        raise PolicyUnavailable("the policy failed: a rule has two values, or `<` compares what is no number")
    values = output[0].expressions if len(output) else []
    if len(values) != 1:
        raise PolicyUnavailable("the policy's decision is undefined")
    return outward(values[0])


def _interpreter() -> Any:
    from regopy import Interpreter, LogLevel

    interpreter = Interpreter()
    interpreter.log_level = LogLevel.NONE
    interpreter.strict_built_in_errors = True
    return interpreter


@cache
def working() -> frozenset[str]:
    """Return the proved builtins whose expression with a known answer holds in this engine."""
    interpreter = _interpreter()
    rules = "".join(f'holds contains "{name}" if {expression}\n\n' for name, expression in PROBES.items())
    interpreter.add_module("probes.rego", f"package probes\n\n{rules}")
    bundle = interpreter.build(None, ["probes/holds"])
    if not bundle.ok():
        return frozenset()
    try:
        return frozenset(ask(interpreter, bundle, "probes/holds"))
    except PolicyUnavailable:
        return frozenset()


def _must_work(ready: Ready) -> None:
    faults = [
        Fault(f"the builtin {name!r} does not work in the installed regopy as in OPA", ready.path, remedy=REMEDY)
        for name in sorted(ready.builtins - working())
    ]
    if faults:
        raise PolicyError(*faults)


def compile_texts(interpreter: Any, ready: Ready, entrypoint: str) -> Any:
    """Compile a prepared policy and return the bundle that answers at an entry point.

    Raises:
        PolicyError: when it does not compile; `try_out` says why.
    """
    from regopy import RegoError

    try:
        for name, text in ready.modules.items():
            interpreter.add_module(name, text)
        interpreter.add_data_json(ready.data)
        bundle = interpreter.build(None, [entrypoint])
    except RegoError:
        bundle = None
    if bundle is None or not bundle.ok():  # querying such a bundle ends the process
        raise PolicyError(Fault("does not compile in the embedded engine", ready.path))
    return bundle


def engine_input(document: Mapping[str, Any], *, whole_numbers: bool = False) -> Any:
    """Return a document as the engine's input; with `whole_numbers` one that holds a fraction is refused.

    Raises:
        PolicyUnavailable: when it holds something that engines do not decide on reliably.
    """
    from regopy import Input
    from regopy.rego_shared import rego as library
    from regopy.rego_shared import rego_new_input

    holder = Input.__new__(Input)  # frees what it holds
    holder._impl = rego_new_input()
    _Filler(library, holder._impl, whole_numbers).put(document, _MAX_DEPTH)
    return holder


class _Filler:
    """Pushes a JSON value on an engine's input, each text as `plain_text` has it.

    A question has some two hundred values, so the loop over an object's items tells the frequent kinds apart itself.
    """

    def __init__(self, library: Any, into: Any, whole_numbers: bool) -> None:
        self._into, self._whole_numbers = into, whole_numbers
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
        if type(value) is float and abs(value) <= MAX_INTEGER:
            return self._put_float(value)
        found = f"more than {_MAX_DEPTH} levels" if type(value) in (dict, list) else quote(value)
        raise PolicyUnavailable(f"the input holds {found}, on which no engine decides reliably")

    def _put_float(self, value: float) -> Any:
        """Push a number: a whole one without its point, since 1 and 1.0 would be two members of a set here."""
        if value.is_integer():
            return self._integer(self._into, int(value))
        if self._whole_numbers:
            raise PolicyUnavailable(f"the policy adds or subtracts, and the input holds the fraction {quote(value)}")
        if float(f"{value:f}") != value:  # the engine keeps six places and would judge another number
            raise PolicyUnavailable(f"the input holds the fraction {quote(value)}, of more than six decimal places")
        return self._float(self._into, value)

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
    return _short(value) if len(value) <= _SHORT else _plain(value)


_SHORT = 64  # characters of a text whose form is kept: names, and values that come again


@lru_cache(maxsize=4096)
def _short(value: str) -> bytes:
    return _plain(value)


def _plain(value: str) -> bytes:
    try:
        return inward(value).encode()
    except ValueError:
        found = f"the input holds {quote(value)}, which is no Unicode text or holds private characters of ours"
        raise PolicyUnavailable(found) from None
