"""Takes secrets of the session out of whatever an agent says, so that none of them reaches a file of ours.

A secret is masked wherever a run of its letters and digits stands: whole or in parts, with anything between them, in
any case, and likewise what base64, hex and percent-encoding make of it.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

WINDOW = 8
"""So many letters and digits in a row, with marks and blanks between them, are a part of a secret."""
_SHORTEST = 6  # a shorter value, such as `1` or `true`, is no secret and would mask everything
_NAME = "secret"


@dataclass(frozen=True)
class Mask:
    """Masks the given values, by the name that stands in their place."""

    secrets: Mapping[str, str]
    _windows: dict[int, dict[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        windows: dict[int, dict[str, str]] = {}
        for name, secret in self.secrets.items():
            if len(secret) >= _SHORTEST:
                for window in _windows_of(secret):
                    windows.setdefault(len(window), {}).setdefault(window, name)
        object.__setattr__(self, "_windows", windows)

    def text(self, text: str) -> str:
        """Return a text with every part of a secret replaced by its name in brackets."""
        if not self._windows:
            return text
        letters = [(place, c) for place, char in enumerate(text) if char.isalnum() for c in char.casefold()]
        folded = "".join(c for _, c in letters)
        spans = [(letters[a][0], letters[b - 1][0] + 1, name) for a, b, name in self._found(folded)]
        return _replaced(text, _joined(spans))

    def _found(self, folded: str) -> Iterator[tuple[int, int, str]]:
        for size, windows in self._windows.items():
            for start in range(len(folded) - size + 1):
                name = windows.get(folded[start : start + size])
                if name is not None:
                    yield start, start + size, name

    def value(self, value: Any) -> Any:
        """Return a JSON value with its texts and keys masked."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(key): self.value(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(inner) for inner in value]
        return value


def secrets_of(variables: Mapping[str, str]) -> dict[str, str]:
    """Return what is secret in variables: by a variable's name, in an address, or because the value looks like a key.

    Others (a folder, a model's name) stay readable: an agent may rightly name the same words in a call.
    """
    return {name: secret for name, value in variables.items() if (secret := "".join(_secret_parts(name, value)))}


def _secret_parts(name: str, value: str) -> Iterator[str]:
    if _SECRET_NAME.search(name):
        yield value
    elif "://" in value:
        parts = urlsplit(value)
        yield parts.password or ""
        yield from (inner for _, inner in parse_qsl(parts.query))
    elif _KEY.fullmatch(value) and re.search(r"\d", value) and re.search(r"[A-Za-z]", value):
        yield value


_SECRET_NAME = re.compile(r"key|token|secret|pass|pwd|cred|auth|cookie|bearer|private", re.IGNORECASE)
_KEY = re.compile(r"[A-Za-z0-9_+=.~-]{20,}")


def _folded(text: str) -> str:
    return "".join(c for char in text if char.isalnum() for c in char.casefold())


def _windows_of(secret: str) -> Iterator[str]:
    for form in _forms(secret):
        folded = _folded(form)
        size = min(WINDOW, len(folded))
        yield from (folded[start : start + size] for start in range(len(folded) - size + 1) if size >= _SHORTEST)


def _forms(secret: str) -> Iterator[str]:
    raw = secret.encode("utf-8", "surrogateescape")
    yield from (secret, secret[::-1], raw.hex(), quote(raw, safe=""))
    for shift in range(3):  # base64 of a secret depends on how many bytes stand before it
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            text = encode(b"\0" * shift + raw).decode().rstrip("=")
            yield text[(shift * 8 + 5) // 6 : len(text) - (1 if (shift + len(raw)) % 3 else 0)]


def _joined(spans: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return spans in order, those that overlap or touch as one."""
    joined: list[tuple[int, int, str]] = []
    for start, end, name in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]), joined[-1][2])
        else:
            joined.append((start, end, name))
    return joined


def _replaced(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    parts, place = [], 0
    for start, end, name in spans:
        parts += [text[place:start], f"[{_NAME}: {name}]"]
        place = end
    return "".join([*parts, text[place:]])
