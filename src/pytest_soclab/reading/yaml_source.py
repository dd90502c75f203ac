"""The one function that opens YAML: strict, bounded, plain JSON out, positions only when something is wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import DuplicateKeyError, SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError, YAMLStreamError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, DocumentStartEvent, ScalarEvent
from ruamel.yaml.resolver import VersionedResolver

from pytest_soclab.base.errors import Fault, ScenarioError, quote
from pytest_soclab.reading import yaml_words

MAX_BYTES = 1_048_576
MAX_DEPTH = 32
MAX_ALIASES = 16
MAX_VALUES = 1_000_000
MAX_FAULTS = 200

KeyPath = Sequence[str | int]
_CONTROL = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _Plain(SafeConstructor):
    """Keeps dates as the text that stands in the file."""


_Plain.add_constructor("tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str)


class _Resolver(VersionedResolver):
    """Works out the rules of the document's YAML version once, not for each value again."""

    @cached_property
    def versioned_resolver(self) -> Any:
        return super().versioned_resolver


class _Yaml(YAML):
    """A safe reader without plug-ins, which ruamel looks for on the disk each time."""

    def official_plug_ins(self) -> list[str]:
        return []


def _yaml() -> YAML:
    yaml = _Yaml(typ="safe")
    yaml.Constructor = _Plain
    yaml.Resolver = _Resolver
    return yaml


@dataclass(frozen=True)
class Document:
    """A YAML file as plain JSON data; `place` finds a value's line and column in the text."""

    path: str
    text: str
    value: Any

    @cached_property
    def _root(self) -> Any:
        return _yaml().compose(self.text)

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
        size = path.stat().st_size
        raw = path.read_bytes() if size <= limit else b""
    except OSError as error:
        found = f"the file cannot be read ({error.strerror})"
        raise ScenarioError(Fault(found, name, expected="a readable YAML file")) from None
    if size > limit:
        raise ScenarioError(Fault(f"found {size} bytes", name, expected=f"at most {limit}", remedy="split the file"))
    return parse(_decoded(raw, name), name)


def _decoded(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode()
        found = f"found the byte 0x{raw[error.start]:02x}, which is not UTF-8"
        remedy = "save the file as UTF-8"
        raise ScenarioError(Fault(found, name, *_place_after(before), "", "UTF-8 text", remedy)) from None


def _place_after(text: str) -> tuple[int, int]:
    """Return line and column of the character that follows a text."""
    return text.count("\n") + 1, len(text) - text.rfind("\n")


def parse(text: str, name: str) -> Document:
    """Parse YAML text; `name` stands for the file in messages. Raises as `read` does."""
    document = Document(name, text, _value(text, name))
    if not isinstance(document.value, dict):
        found = f"found {_KINDS.get(type(document.value).__name__, 'a single value')}"
        raise ScenarioError(Fault(found, name, 1, 1, "", "a mapping", "write `key: value` lines"))
    faults = [document.fault(*unfit) for unfit in islice(_unplain(document.value), MAX_FAULTS)]
    if faults:
        raise ScenarioError(*faults)
    return document


_KINDS = {"NoneType": "nothing but an empty file", "list": "a list at the top"}


def _value(text: str, name: str) -> Any:
    try:
        _guard(text, name)
        return _yaml().load(text)
    except DuplicateKeyError:
        raise ScenarioError(*_duplicates(text, name)) from None
    except MarkedYAMLError as error:
        raise ScenarioError(_marked(error, text, name)) from None
    except (YAMLError, YAMLStreamError, RecursionError, ValueError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ScenarioError(Fault(f"not readable as YAML: {first}", name, 1, 1, expected="plain YAML 1.2")) from None


def _marked(error: MarkedYAMLError, text: str, name: str) -> Fault:
    open_ended = yaml_words.open_ended(error.problem or "")
    marks = [error.problem_mark, error.context_mark]
    mark = next((mark for mark in (marks[::-1] if open_ended else marks) if mark is not None), None)
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    lines = text.splitlines()
    words = yaml_words.explain(error.context or "", error.problem or "", lines[line - 1 : line], column)
    return Fault(words.found, name, line, column, "", words.expected, words.remedy)


def _duplicates(text: str, name: str) -> list[Fault]:
    """Return a fault for each key that stands again in its mapping, wherever it stands."""
    document = Document(name, text, None)
    return [_duplicate(document, *found) for found in islice(_again(document._root, ()), MAX_FAULTS)]


def _duplicate(document: Document, path: KeyPath, first: Any, again: Any) -> Fault:
    found = f"found the key {quote(str(path[-1]))} a second time"
    remedy = f"keep one of them; the first stands in line {first.line + 1}"
    return Fault(found, document.path, again.line + 1, again.column + 1, dotted(path), "", remedy)


def _again(node: Any, path: tuple[str | int, ...]) -> Iterator[tuple[KeyPath, Any, Any]]:
    if not isinstance(node.value, list):
        return
    seen: dict[str, Any] = {}
    for index, item in enumerate(node.value):
        if not isinstance(item, tuple):
            yield from _again(item, (*path, index))
            continue
        key, mark = str(item[0].value), item[0].start_mark
        if seen.setdefault(key, mark) is not mark:
            yield (*path, key), seen[key], mark
        yield from _again(item[1], (*path, key))


def _guard(text: str, name: str) -> None:
    """Refuse what could make the loader recurse or expand without bound, before anything is built."""
    found = _CONTROL.search(text)
    if found is not None:
        what = f"found the control character U+{ord(found[0]):04X}"
        place = _place_after(text[: found.start()])
        raise ScenarioError(Fault(what, name, *place, "", "text", "take it out, or write it as an escape in quotes"))
    depth = aliases = documents = 0
    anchors: set[str] = set()
    for event in _yaml().parse(text):
        if type(event) is ScalarEvent and not event.tag and not event.anchor:
            continue  # most of a file
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        aliases += isinstance(event, AliasEvent)
        documents += isinstance(event, DocumentStartEvent)
        fault = _bound(depth, aliases, documents) or _named(event, anchors)
        if fault:
            mark = event.start_mark
            raise ScenarioError(Fault(fault[0], name, mark.line + 1, mark.column + 1, "", fault[1], fault[2]))


def _bound(depth: int, aliases: int, documents: int) -> tuple[str, str, str] | None:
    if depth > MAX_DEPTH:
        return f"found a value {depth} levels deep", f"at most {MAX_DEPTH}", "flatten it"
    if aliases > MAX_ALIASES:
        return f"found alias number {aliases}", f"at most {MAX_ALIASES} aliases (`*name`) in a file", "write it out"
    if documents > 1:
        return "found a second document", "one document in a file", "move it to a file of its own"
    return None


def _named(event: Any, anchors: set[str]) -> tuple[str, str, str] | None:
    """Return what is wrong with an event's tag or anchor."""
    if not isinstance(event, ScalarEvent | CollectionStartEvent):
        return None
    tag = str(event.tag or "")
    if tag and not tag.startswith(("tag:yaml.org,2002:str", "!!str")):
        return f"found the tag {quote(tag)}", "no tags", "take the tag out"
    if event.anchor and event.anchor in anchors:
        return f"found the anchor {quote(event.anchor)} a second time", "a name of its own", "rename one"
    if event.anchor:
        anchors.add(event.anchor)
    return None


def _unplain(root: Any) -> Iterator[tuple[KeyPath, str, str, str]]:
    """Yield what is not plain JSON: keys that are no text, numbers that are not finite, aliases that build a ring."""
    stack: list[tuple[Any, tuple[str | int, ...]]] = [(root, ())]
    visited = 0
    while stack:
        value, path = stack.pop()
        visited += 1
        if len(path) > MAX_DEPTH * 2 or visited > MAX_VALUES:
            ring = len(path) > MAX_DEPTH * 2
            found = "found a value that contains itself" if ring else f"found more than {MAX_VALUES} values"
            yield path[:2], found, "a value that ends" if ring else "fewer", "write the values out"
            return
        if isinstance(value, dict):
            yield from (_bad_key(key, path) for key in value if not isinstance(key, str))
            stack += [(inner, (*path, key)) for key, inner in reversed(value.items()) if isinstance(key, str)]
        elif isinstance(value, list):
            stack += [(inner, (*path, index)) for index, inner in reversed(list(enumerate(value)))]
        elif type(value) is not str and not _json_scalar(value):
            yield path, f"found the number {value}", *_number_words(value)


def _bad_key(key: Any, path: tuple[str | int, ...]) -> tuple[KeyPath, str, str, str]:
    shown = "true" if key is True else "false" if key is False else "null" if key is None else str(key)
    return (*path, shown), f"found the key {shown}, which is no text", "a key that is text", f'write "{shown}": …'


def _number_words(value: Any) -> tuple[str, str]:
    if isinstance(value, int):
        return "a whole number within ±2^53", "write a larger one as text, in quotes"
    if isinstance(value, float):
        return "a finite number", "write it as text, in quotes"
    return "text, a number, true, false or null", "write it as text, in quotes"


def _json_scalar(value: Any) -> bool:
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, int):
        return abs(value) <= 2**53
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str)


def load_plain(text: str, name: str) -> Any:
    """Return the value of YAML text that holds a mapping. Raises as `read` does."""
    return parse(text, name).value
