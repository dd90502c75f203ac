"""Opening the files that people and runs wrote: size limit, UTF-8, strict JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from pytest_soclab.base.errors import Fault, KnownAnswerError, quote
from pytest_soclab.base.regular import endless

LARGEST = 50 * 1024 * 1024
"""The largest file that is read, in bytes."""

_MEMORY_FACTOR = 9  # the estimate stays below the ten times that a reader may take
_SMALL = 1024 * 1024
_JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?(\s*+:)?', re.DOTALL)
_JSON_PIECE = re.compile(rb'(?:[^"]++|"(?:[^"\\]|\\.)*+"?){1,20000}+', re.DOTALL)  # counted one by one, to save memory


def refuse(
    found: str, path: str = "", line: int = 0, *, field: str = "", expected: str = "", remedy: str = ""
) -> NoReturn:
    """Raise KnownAnswerError with one fault at its place."""
    raise KnownAnswerError(Fault(found, path, line, field=field, expected=expected, remedy=remedy))


def read_bytes(path: str) -> bytes:
    """Return a file's bytes without a byte order mark. Raises KnownAnswerError naming what stands in the way."""
    place = Path(path)
    try:
        if place.is_dir():
            refuse("a directory", path, expected="a file", remedy="name the file in it, such as score.md")
        if endless(place):
            refuse("a pipe or a device, which may never end", path, expected="a file", remedy="write it to a file")
        with place.open("rb") as stream:
            data = _read(stream, path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        refuse(f"cannot be read ({reason})", path, expected="a readable file", remedy="check the path")
    return data.removeprefix(b"\xef\xbb\xbf")


def _read(stream: BinaryIO, path: str) -> bytes:
    chunks: list[bytes] = []
    left = LARGEST
    while chunk := stream.read(_SMALL):
        chunks.append(chunk)
        left -= len(chunk)
        if left < 0:
            refuse(f"more than {LARGEST} bytes", path, expected="at most 50 MB", remedy="is this the right file?")
    return b"".join(chunks)


def decode(data: bytes, path: str, first_line: int = 1) -> str:
    """Return `data` as UTF-8 text. Raises KnownAnswerError with the line of the first byte that is not."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + data.count(b"\n", 0, error.start)
        found = f"byte 0x{data[error.start]:02x}, which is not UTF-8"
        refuse(found, path, line, expected="UTF-8 text", remedy="save the file as UTF-8")


def read_json(path: str) -> Any:
    """Return the value of a JSON file, read strictly: no duplicate key, no NaN, no lone surrogate, bounded memory."""
    data = read_bytes(path)
    if not data.strip():
        refuse("an empty file", path, expected="JSON")
    if len(data) > _SMALL:
        _check_memory(data, path)
    text = decode(data, path)
    del data
    return parse_json(text, path)


def parse_json(text: str, path: str, line: int = 0) -> Any:
    """Return the value of strict JSON; `line` is its line in the file where that holds several values."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        refuse(f"JSON that cannot be read ({error.msg})", path, line or error.lineno, expected="strict JSON")
    except RecursionError:
        refuse("JSON nested too deeply", path, line, expected="a few levels")
    except ValueError as error:
        refuse(f"JSON that cannot be read ({error})", path, line, expected="strict JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {quote(twice)} twice in one object")
    return result


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name}, which is not JSON")


def _check_memory(data: bytes, path: str) -> None:
    """Refuse a large file whose many tiny values would take far more memory than the file has bytes."""
    keys = strings = objects = lists = commas = 0
    for piece in _JSON_PIECE.finditer(data):
        colons = _JSON_STRING.findall(piece[0])
        strings += colons.count(b"")
        keys += len(colons) - colons.count(b"")
        bare = _JSON_STRING.sub(b"", piece[0])
        objects, lists, commas = objects + bare.count(b"{"), lists + bare.count(b"["), commas + bare.count(b",")
    per_key = 200 if keys > 64 * max(objects, 1) else 50
    estimate = len(data) + 70 * (objects + lists) + 60 * strings + per_key * keys + 20 * commas
    if estimate > (most := _MEMORY_FACTOR * len(data)):
        found = f"{keys + strings + commas} tiny values in {len(data)} bytes, which would take {estimate} in memory"
        refuse(found, path, expected=f"values that take at most {most}", remedy="is this the right file?")


def shown(value: Any) -> str:
    """Return a JSON value as a message quotes it: a text in quotes, anything else as JSON, in either case short."""
    if isinstance(value, str):
        return quote(value)
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}… ({len(text)} characters)"


def text_field(value: Any, path: str, field: str) -> str:
    """Return `value` as a non-empty one-line text that can be printed, or refuse it with its place."""
    if not isinstance(value, str) or not value.strip():
        refuse(shown(value), path, field=field, expected="a text")
    if any("\ud800" <= character <= "\udfff" for character in value):
        refuse(shown(value), path, field=field, expected="text without half a surrogate pair")
    return value.strip()
