"""Recordings of what a model was asked and answered, one file a trial, and their replay without the model."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_soclab.base.errors import UsageError

MOST_RECORDED = 128 * 1_048_576
"""Characters of one trial's recording; each request repeats all before it, and an agent may repeat itself for ever."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered: status, type of content, body."""

    status: int
    kind: str
    body: bytes


@dataclass(slots=True)
class Recording:
    """The requests and answers of one trial in order; `volatile` are texts that differ between runs, by their names."""

    volatile: Mapping[str, str]
    keeps: bool = True
    """Whether exchanges are recorded; one that nobody asked for would only fill memory."""
    size: int = 0
    entries: list[dict[str, Any]] = field(default_factory=list)
    _used: set[int] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def settled(self, text: str) -> str:
        """Return a text with what differs between runs replaced by its name."""
        for name, value in self.volatile.items():
            text = text.replace(value, name)
        return text

    def lively(self, text: str) -> str:
        """Return a recorded text with what differs between runs as it is in this one."""
        for name, value in self.volatile.items():
            text = text.replace(name, value)
        return text

    def add(self, path: str, body: str, answer: Answer) -> str:
        """Record one exchange, of texts that hold no secret; return why no more can be recorded, or an empty text."""
        if not self.keeps:
            return ""
        told = self.settled(answer.body.decode("utf-8", "replace"))
        entry = {"path": path, "request": _plain(self.settled(body)), "status": answer.status, "kind": answer.kind}
        with self._lock:
            self.size += len(body) + len(told)
            if self.size > MOST_RECORDED:
                return f"the trial's recording has more than {MOST_RECORDED // 1_048_576} MiB"
            self.entries.append({**entry, "answer": told})
        return ""

    def find(self, path: str, body: str) -> Answer | None:
        """Return the recorded answer to a request, each once; None where the trial left the recording."""
        request = _plain(self.settled(body))
        with self._lock:
            for number, entry in enumerate(self.entries):
                if number not in self._used and (entry["path"], entry["request"]) == (path, request):
                    self._used.add(number)
                    return Answer(entry["status"], entry["kind"], self.lively(entry["answer"]).encode())
        return None

    def left_at(self, body: str) -> str:
        """Return where a request that is not recorded differs from the next one that is."""
        number = len(self._used)
        if number >= len(self.entries):
            return f"request {number + 1}, which is one more than were recorded"
        return (
            f"request {number + 1}, at {_difference(self.entries[number]['request'], _plain(self.settled(body)), '$')}"
        )

    def save(self, file: Path) -> None:
        """Write the recording."""
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(entry, ensure_ascii=False, sort_keys=True) for entry in self.entries]
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def load(file: Path, volatile: Mapping[str, str]) -> Recording:
    """Read a recording.

    Raises:
        UsageError: when there is none for this trial, or it cannot be read.
    """
    try:
        entries = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
        wanted = {"path", "request", "status", "kind", "answer"}
        if not all(isinstance(entry, dict) and wanted <= entry.keys() for entry in entries):
            raise ValueError("a line is no recorded exchange")
    except (OSError, ValueError) as error:
        raise UsageError(f"{file}: cannot be replayed ({error}); record it with --soclab-record") from None
    return Recording(volatile, entries=entries)


def _plain(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _difference(one: Any, other: Any, place: str) -> str:
    """Return the place of the first difference of two JSON values, such as `$.messages[3].content`."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted({*one, *other}):
            if name not in one or name not in other:
                return f"{place}.{name}"
            if one[name] != other[name]:
                return _difference(one[name], other[name], f"{place}.{name}")
    if isinstance(one, list) and isinstance(other, list):
        for number, (a, b) in enumerate(zip(one, other, strict=False)):
            if a != b:
                return _difference(a, b, f"{place}[{number}]")
        return f"{place}[{min(len(one), len(other))}]"
    return place
