"""The one function that opens YAML: strict, bounded, plain JSON out, positions only when something is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError, YAMLStreamError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, DocumentStartEvent, ScalarEvent

from pytest_soclab.errors import Fault, ScenarioError, quote

MAX_BYTES = 1_048_576
MAX_DEPTH = 32
MAX_ALIASES = 16

KeyPath = Sequence[str | int]


class _Plain(SafeConstructor):
    """Keeps dates as the text that stands in the file."""


_Plain.add_constructor("tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str)


def _yaml() -> YAML:
    yaml = YAML(typ="safe")
    yaml.Constructor = _Plain
    return yaml


@dataclass(frozen=True)
class Document:
    """A YAML file as plain JSON data; `place` finds a value's line and column in the text."""

    path: str
    text: str
    value: Any

    @cached_property
    def _root(self) -> Any:
        return YAML(typ="rt", pure=True).compose(self.text)

    def place(self, path: KeyPath) -> tuple[int, int]:
        """Return line and column (both from 1) of the key or item at `path`, or of its nearest parent that exists."""
        node, mark = self._root, self._root.start_mark if self._root is not None else None
        for key in path:
            found = _child(node, key)
            if found is None:
                break
            mark, node = found
        return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)

    def fault(self, path: KeyPath, found: str, expected: str = "", remedy: str = "") -> Fault:
        """Return a fault at `path` with its place in the file."""
        line, column = self.place(path)
        return Fault(found, self.path, line, column, dotted(path), expected, remedy)


def _child(node: Any, key: str | int) -> tuple[Any, Any] | None:
    """Return (mark, node) of one child of a composed node."""
    for index, item in enumerate(getattr(node, "value", ()) if not isinstance(getattr(node, "value", ""), str) else ()):
        if isinstance(item, tuple) and item[0].value == key:
            return item[0].start_mark, item[1]
        if not isinstance(item, tuple) and index == key:
            return item.start_mark, item
    return None


def dotted(path: KeyPath) -> str:
    """Return a path as `variants.plain.payload` or `agent[1].args`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def read(path: Path, shown: str | None = None, limit: int = MAX_BYTES) -> Document:
    """Read a YAML file that holds one mapping.

    Raises:
        ScenarioError: when it cannot be read, is too large or too deep, has duplicate keys, more aliases than
            `MAX_ALIASES`, tags, keys that are no text or numbers that are not finite.
    """
    name = shown or str(path)
    try:
        raw = path.read_bytes() if path.stat().st_size <= limit else None
    except OSError as error:
        raise ScenarioError(
            Fault(f"cannot be read ({error.strerror})", name, expected="a readable YAML file")
        ) from None
    if raw is None:
        found = f"{path.stat().st_size} bytes"
        raise ScenarioError(Fault(found, name, 1, 1, expected=f"at most {limit} bytes", remedy="split the file"))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ScenarioError(
            Fault(f"byte 0x{raw[error.start]:02x} is not UTF-8", name, line, 1, expected="UTF-8")
        ) from None
    return parse(text, name)


def parse(text: str, name: str) -> Document:
    """Parse YAML text; `name` stands for the file in messages. Raises as `read` does."""
    try:
        _guard(text, name)
        value = _yaml().load(text)
    except MarkedYAMLError as error:
        raise ScenarioError(_marked(error, name)) from None
    except (YAMLError, YAMLStreamError, RecursionError, ValueError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ScenarioError(Fault(f"not readable as YAML: {first}", name, 1, 1, expected="plain YAML 1.2")) from None
    document = Document(name, text, value)
    if not isinstance(value, dict):
        raise ScenarioError(document.fault((), f"found {_kind(value)}", "a mapping of keys to values"))
    faults = [document.fault(where, found, expected) for where, found, expected in _unplain(value, ())]
    if faults:
        raise ScenarioError(*faults)
    return document


def _marked(error: MarkedYAMLError, name: str) -> Fault:
    mark = error.problem_mark or error.context_mark
    problem = (error.problem or "broken YAML").splitlines()[0]
    if problem.startswith("found duplicate key"):
        problem, remedy = problem.split(" with value")[0], "keep one of them"
    else:
        remedy = f"{error.context}" if error.context else ""
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    return Fault(problem, name, line, column, expected="plain YAML 1.2", remedy=remedy)


def _guard(text: str, name: str) -> None:
    """Refuse what could make the loader recurse or expand without bound, before anything is built."""
    depth = aliases = documents = 0
    for event in _yaml().parse(text):
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        aliases += isinstance(event, AliasEvent)
        documents += isinstance(event, DocumentStartEvent)
        fault = _bound(event, depth, aliases, documents)
        if fault:
            mark = event.start_mark
            raise ScenarioError(Fault(fault[0], name, mark.line + 1, mark.column + 1, expected=fault[1]))


def _bound(event: Any, depth: int, aliases: int, documents: int) -> tuple[str, str] | None:
    if depth > MAX_DEPTH:
        return "nested too deep", f"at most {MAX_DEPTH} levels"
    if aliases > MAX_ALIASES:
        return f"more than {MAX_ALIASES} aliases", f"at most {MAX_ALIASES} (`*name`)"
    if documents > 1:
        return "a second document", "one document a file"
    tag = getattr(event, "tag", None) if isinstance(event, ScalarEvent | CollectionStartEvent) else None
    if tag and not str(tag).startswith(("tag:yaml.org,2002:str", "!!str")):
        return f"the tag {quote(str(tag))}", "no tags"
    return None


def _unplain(
    value: Any, path: tuple[str | int, ...], depth: int = 0
) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """Yield what is not plain JSON: keys that are no text, numbers that are not finite, aliases that build a ring."""
    if depth > MAX_DEPTH * 2:
        yield path, "a value that contains itself", "no ring of aliases"
    elif isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                yield path, f"found the key {quote(key)}", "a key that is text; put it in quotes"
                continue
            yield from _unplain(inner, (*path, key), depth + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _unplain(inner, (*path, index), depth + 1)
    elif not _json_scalar(value):
        yield path, f"found {quote(value)}", "text, a whole or finite number, true, false or null"


def _json_scalar(value: Any) -> bool:
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, int):
        return abs(value) <= 2**53
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str)


def _kind(value: Any) -> str:
    names = {"NoneType": "an empty file", "list": "a list", "str": "text", "int": "a number", "float": "a number"}
    return names.get(type(value).__name__, type(value).__name__)


def load_plain(text: str, name: str) -> Any:
    """Return the value of YAML text that holds a mapping. Raises as `read` does."""
    return parse(text, name).value
