"""The one function that opens YAML: strict, bounded, plain JSON out, positions only when something is wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from ruamel.yaml import YAML
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError, YAMLStreamError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, DocumentStartEvent, ScalarEvent
from ruamel.yaml.parser import ParserError
from ruamel.yaml.scanner import ScannerError

from pytest_soclab.base.errors import Fault, ScenarioError, quote
from pytest_soclab.reading import yaml_glued, yaml_words
from pytest_soclab.reading.yaml_core import HAS_FAST, READ_OTHERWISE, reader

MAX_BYTES = 1_048_576
MAX_DEPTH = 32
MAX_ALIASES = 16
MAX_VALUES = 1_000_000
MAX_FAULTS = 200

KeyPath = Sequence[str | int]
T = TypeVar("T")
_CONTROL = re.compile(
    r"[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|\r(?!\n)|(?<=[\s\S])\ufeff"
)
"""Control characters, and what ends a line for some readers and none for others, which could hide a key."""
_NO_CHARACTER = re.compile(r"\\U(?!000|0010)[0-9a-fA-F]{8}")
_SURROGATE = re.compile("[\ud800-\udfff]")


def _scanned(text: str, use: Callable[[YAML], T]) -> T:
    """Return what `use` makes of a text: read by the fast scanner where that can take it, else by the exact one.

    So one result, and one message, comes out with the fast scanner and without.
    """
    if HAS_FAST and not READ_OTHERWISE.search(text):
        try:
            return use(reader(fast=True))
        except (ScannerError, ParserError):
            pass
    return use(reader(fast=False))


@dataclass(frozen=True)
class Document:
    """A YAML file as plain JSON data; `place` finds a value's line and column in the text."""

    path: str
    text: str
    value: Any

    @cached_property
    def _root(self) -> Any:
        return _scanned(self.text, lambda yaml: yaml.compose(self.text))

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
        odd = not (path.is_file() or path.is_dir())  # a pipe or a device, which has no end
        raw = path.read_bytes() if size <= limit and not odd else b""
    except OSError as error:
        found = f"the file cannot be read ({error.strerror})"
        raise ScenarioError(Fault(found, name, expected="a readable YAML file")) from None
    if odd:
        raise ScenarioError(Fault("found a pipe or a device", name, expected="a readable YAML file"))
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
        _refuse_odd_text(text, name)
        return _scanned(text, lambda yaml: _guarded(yaml, text, name))
    except DuplicateKeyError as error:  # two spellings of one key, such as `null` and `~`, are no duplicates as texts
        raise ScenarioError(*(_duplicates(text, name) or [_marked(error, text, name)])) from None
    except MarkedYAMLError as error:
        raise ScenarioError(_marked(error, text, name)) from None
    except (OverflowError, ValueError) as error:
        raise ScenarioError(_unmarked(error, text, name)) from None
    except (YAMLError, YAMLStreamError, RecursionError) as error:
        raise ScenarioError(_unreadable(error, name)) from None


def _guarded(yaml: YAML, text: str, name: str) -> Any:
    _guard(yaml, text, name)
    if yaml_glued.SUSPECT.search(text):
        faults = [
            Fault(one.found, name, one.line, one.column, "", one.expected, one.remedy)
            for one in islice(yaml_glued.glued(yaml.parse(text), text), MAX_FAULTS)
        ]
        if faults:
            raise ScenarioError(*faults)
    return yaml.load(text)


def _unreadable(error: Exception, name: str) -> Fault:
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    return Fault(f"not readable as YAML: {first}", name, 1, 1, expected="plain YAML 1.2")


def _unmarked(error: Exception, text: str, name: str) -> Fault:
    """Return the fault of an escape beyond the last character of Unicode, over which a scanner only stumbles."""
    escape = _NO_CHARACTER.search(text)
    if escape is None:
        return _unreadable(error, name)
    found = f"found the escape {escape[0]}, which is no character"
    return Fault(found, name, *_place_after(text[: escape.start()]), "", "at most \\U0010FFFF", "mend the escape")


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


def _refuse_odd_text(text: str, name: str) -> None:
    """Refuse characters that two readers of YAML take for two things, and directives, which change its meaning."""
    odd = _CONTROL.search(text)
    if odd is not None:
        what = f"found the control character U+{ord(odd[0]):04X}"
        place = _place_after(text[: odd.start()])
        raise ScenarioError(Fault(what, name, *place, "", "text", "take it out, or write it as an escape in quotes"))
    for number, line in enumerate(_head(text), 1):
        if line.startswith("%") and not re.fullmatch(r"%YAML[ \t]+1\.2[ \t]*(#.*)?", line):
            words = yaml_words.directive(line)
            raise ScenarioError(Fault(words.found, name, number, 1, "", words.expected, words.remedy))


def _head(text: str) -> Iterator[str]:
    """Yield the lines before a document begins: blank ones, comments, directives."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        line = text[start : end if end >= 0 else len(text)].rstrip("\r")
        if line.strip() and not line.lstrip().startswith("#") and not line.startswith("%"):
            return
        yield line
        start = end + 1 if end >= 0 else len(text)


def _guard(yaml: YAML, text: str, name: str) -> None:
    """Refuse what could make the loader recurse or expand without bound, before anything is built."""
    depth = aliases = documents = 0
    anchors: set[str] = set()
    for event in yaml.parse(text):
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
            yield from (_bad_key(key, path) for key in value if not isinstance(key, str) or _halved(key))
            stack += [(inner, (*path, key)) for key, inner in reversed(value.items()) if isinstance(key, str)]
        elif isinstance(value, list):
            stack += [(inner, (*path, index)) for index, inner in reversed(list(enumerate(value)))]
        elif isinstance(value, str):
            if _halved(value):
                yield path, "found half of a character (a surrogate)", "whole characters", "write it as one \\U escape"
        elif not _json_scalar(value):
            yield path, f"found the number {value}", *_number_words(value)


def _halved(text: str) -> bool:
    """Tell whether a text holds half of a surrogate pair, which an escape can write and no file can hold."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def _bad_key(key: Any, path: tuple[str | int, ...]) -> tuple[KeyPath, str, str, str]:
    if isinstance(key, str):
        return path, f"found the key {quote(key)} with half of a character", "whole characters", "mend the escape"
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


_OTHER_NUMBER = re.compile(
    r"[-+]?(0[0-9_]+|0[bB][01_]+|0X[0-9a-fA-F_]+|0x[0-9a-fA-F_]*_[0-9a-fA-F_]*|[0-9][0-9.]*_[0-9_.]*)"
)


def load_for_others(text: str, name: str) -> Any:
    """Return the value of YAML text that readers of an older YAML read, too, such as the data of a policy.

    Raises:
        ScenarioError: as `read` does, and for a number that such a reader takes for another one, as 010 for 8.
    """
    document = parse(text, name)
    faults = [
        Fault(
            f"found the number {quote(node.value)}", name, node.start_mark.line + 1, node.start_mark.column + 1,
            expected="a number that every version of YAML reads alike",
            remedy="write it without leading zeros, prefix and underscores, or in quotes where it is text",
        )
        for node in _scalars(document._root)
        if not node.style and _OTHER_NUMBER.fullmatch(str(node.value))
    ]  # fmt: skip
    if faults:
        raise ScenarioError(*faults)
    return document.value


def _scalars(root: Any) -> Iterator[Any]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(getattr(node, "value", None), list):
            waiting += [part for item in node.value for part in (item if isinstance(item, tuple) else (item,))]
        elif node is not None:
            yield node
