"""The hash-chained log of a trial.

An event is a JSON object `{"seq", "type", "at", "data", "prev", "hash"}`: `hash` is the SHA-256 of the canonical
form (RFC 8785) of the event without `hash`, `prev` the hash of the event before it (64 zeros before the first).
The root hash of a transcript is the hash of its last event.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import rfc8785

Event = dict[str, Any]
GENESIS = "0" * 64


def _whole(text: str) -> int:
    """Return an integer; a float such as 1e17 has a canonical form, but one that reads back as no exact number."""
    number = int(text)
    if abs(number) >= 2**53:
        raise ValueError(f"{text} is not exact in JSON")
    return number


_READER = json.JSONDecoder(parse_int=_whole)


class _OtherForm(Exception):  # noqa: N818 - nothing is wrong; the library has to write this value
    """The value's canonical form is not what the standard library writes."""


def _no_float(text: str) -> float:
    raise _OtherForm(text)


_WRITER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
_PLAIN_READER = json.JSONDecoder(parse_int=_whole, parse_float=_no_float)
_BEYOND_16_BITS = re.compile("[\U00010000-\U0010ffff]")


def _quickly(value: Any) -> tuple[bytes, Any] | None:
    """Return the canonical form of a JSON value and a copy read back from it; None where only the library knows it.

    rfc8785 defines the form. For texts, whole numbers, true, false, null, lists and objects with keys that are texts,
    the standard library's C encoder writes the same bytes many times faster, as long as no key may have to be sorted by
    its UTF-16 form. Whatever might differ (a float, such a key, a tuple, an error) is left to rfc8785; `verify` always
    asks it.
    """
    try:
        text = _WRITER.encode(value)
        copy, _ = _PLAIN_READER.raw_decode(text)
        if copy == value and (text.isascii() or not _BEYOND_16_BITS.search(text)):
            return text.encode(), copy
    except (_OtherForm, TypeError, ValueError, RecursionError):
        pass  # the library says what is wrong, if anything is
    return None


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON value's canonical form, in hex.

    Raises:
        ValueError: when the value has no canonical form (a number that is not finite or beyond 2^53, a lone surrogate).
    """
    quick = _quickly(value)
    return hashlib.sha256(quick[0] if quick else rfc8785.dumps(value)).hexdigest()


def _chained(body: Any) -> tuple[bytes, Event]:
    quick = _quickly(body)
    if quick is not None:
        return quick
    form = rfc8785.dumps(body)
    return form, _READER.decode(form.decode())


@dataclass(frozen=True, slots=True)
class ChainFault:
    """The first event of a transcript that does not verify."""

    seq: int
    found: str
    expected: str

    def __str__(self) -> str:
        return f"event {self.seq}: found {self.found}, expected {self.expected}"


@dataclass(slots=True)
class Ledger:
    """An append-only list of chained events."""

    events: list[Event] = field(default_factory=list)
    _lines: list[str] = field(default_factory=list, repr=False)
    """The forms that were hashed, with their hash: what is written down is never encoded a second time."""

    def append(self, kind: str, at: int, data: Mapping[str, Any]) -> Event:
        """Chain one event of `kind` at simulated time `at` (seconds since the epoch) and return it.

        `data` must already be plain JSON; it is stored as its canonical copy, so that nothing the caller does later
        changes what was logged.

        Raises:
            ValueError: when it has no canonical form, as for `digest`.
        """
        body: Any = {"seq": len(self.events), "type": kind, "at": at, "data": data, "prev": self.root_hash}
        form, event = _chained(body)
        event["hash"] = hashed = hashlib.sha256(form).hexdigest()
        self.events.append(event)
        self._lines.append(f'{form[:-1].decode()},"hash":"{hashed}"}}\n')
        return event

    def last_line(self) -> str:
        """Return the last event as its line."""
        return self._lines[-1]

    def text(self) -> str:
        """Return the transcript as one JSON object a line, keys in canonical order and `hash` last."""
        return "".join(self._lines)

    @property
    def root_hash(self) -> str:
        """The hash of the last event; 64 zeros while there is none."""
        return self.events[-1]["hash"] if self.events else GENESIS


@dataclass(slots=True)
class Draft(Ledger):
    """A log that is judged and thrown away, so that nobody needs its chain: the same events without hashes."""

    def append(self, kind: str, at: int, data: Mapping[str, Any]) -> Event:
        """Log one event, as a private copy."""
        copied = json.loads(json.dumps(data))
        event: Event = {
            "seq": len(self.events),
            "type": kind,
            "at": at,
            "data": copied,
            "prev": GENESIS,
            "hash": GENESIS,
        }
        self.events.append(event)
        return event


def verify(events: Sequence[Mapping[str, Any]], root_hash: str | None = None) -> ChainFault | None:
    """Return the first fault of a chain, or None when every event and the root hash hold."""
    prev = GENESIS
    for seq, event in enumerate(events):
        fault = _event_fault(seq, event, prev)
        if fault:
            return fault
        prev = str(event["hash"])
    if root_hash is not None and prev != root_hash:
        return ChainFault(len(events), f"a chain that ends in {prev[:12]}…", f"root hash {root_hash[:12]}…")
    return None


def _event_fault(seq: int, event: Mapping[str, Any], prev: str) -> ChainFault | None:
    if event.get("seq") != seq:
        return ChainFault(seq, f"seq {event.get('seq')!r}", f"seq {seq}")
    if event.get("prev") != prev:
        return ChainFault(seq, f"prev {str(event.get('prev'))[:12]}…", f"{prev[:12]}…")
    try:
        actual = hashlib.sha256(rfc8785.dumps({k: v for k, v in event.items() if k != "hash"})).hexdigest()
    except (ValueError, TypeError) as error:
        return ChainFault(seq, f"an event with no canonical form ({error})", "plain JSON")
    if event.get("hash") != actual:
        return ChainFault(seq, f"hash {str(event.get('hash'))[:12]}…", f"{actual[:12]}…")
    return None


@dataclass(frozen=True, slots=True)
class ReadBack:
    """The events of a stored chain up to its first fault, the hash that they end in, and that fault."""

    events: list[Event]
    root: str
    fault: str = ""
    cut: bool = False
    """Whether the fault is a last line that was cut short, as a process that is killed leaves one."""


_TAIL = re.compile(rb',"hash":"([0-9a-f]{64})"\}')
_HASHED = len(',"hash":""}') + 64


def read_lines(text: bytes) -> ReadBack:
    """Read a chain's file back and check it by its bytes: what was hashed is what stands there, blanks included."""
    events: list[Event] = []
    root = GENESIS
    lines = text.split(b"\n")
    for seq, line in enumerate(lines[:-1]):
        tail = _TAIL.fullmatch(line, len(line) - _HASHED) if len(line) > _HASHED else None
        if tail is None:
            return ReadBack(events, root, f"event {seq}: found no chained event, expected one JSON object and its hash")
        actual = hashlib.sha256(line[:-_HASHED] + b"}").hexdigest()
        if actual != tail[1].decode():
            return ReadBack(events, root, f"event {seq}: found hash {tail[1].decode()[:12]}…, expected {actual[:12]}…")
        event = _parsed(line)
        if event is None or event.get("seq") != seq or event.get("prev") != root:
            return ReadBack(events, root, f"event {seq}: found an event that does not follow the one before it")
        events.append(event)
        root = actual
    if lines[-1]:
        why = f"event {len(events)}: found a line that was cut short, expected a whole event"
        return ReadBack(events, root, why, cut=True)
    return ReadBack(events, root)


def _parsed(line: bytes) -> Event | None:
    try:
        event = _from_json(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and isinstance(event.get("data"), dict) else None


def _from_json(line: bytes) -> Any:
    """Read one line; pydantic's reader takes half the time but refuses half a surrogate pair."""
    from pydantic_core import from_json

    try:
        return from_json(line)
    except ValueError:
        return json.loads(line.decode("utf-8", errors="surrogatepass"))
