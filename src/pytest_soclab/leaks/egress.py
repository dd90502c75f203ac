"""Finds secrets and internal names in text that leaves the SOC or is kept in a record, plain or lightly disguised."""

from __future__ import annotations

import base64
import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

_SHORTEST = 6  # characters of a secret that are searched for


def texts(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, the keys of objects not included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts(inner)


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _keys(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _keys(inner)


_UNSEEN = frozenset({"Cf", "Cc", "Mn", "Me"})  # joiners, controls, variation selectors and other marks that nobody sees


def _by_field(value: Any) -> list[str]:
    """Return each field's texts joined, so that a secret split over the same field of a list's rows stands whole."""
    found: dict[str, list[str]] = {}
    _gather(value, "", found)
    return ["".join(parts) for parts in found.values() if len(parts) > 1]


def _gather(value: Any, name: str, found: dict[str, list[str]]) -> None:
    if isinstance(value, str):
        found.setdefault(name, []).append(value)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            _gather(inner, str(key), found)
    elif isinstance(value, list | tuple):
        for inner in value:
            _gather(inner, name, found)


_UNSEEN_ASCII = dict.fromkeys((*range(33), 127))  # the white space and the controls among the first 128 characters


def _flat(text: str) -> str:
    """Return text in one case, compatibility forms folded, without white space and invisible characters."""
    if text.isascii():
        return text.translate(_UNSEEN_ASCII).lower()
    folded = unicodedata.normalize("NFKC", text)
    return "".join(c for c in folded if not c.isspace() and unicodedata.category(c) not in _UNSEEN).casefold()


_LOOKALIKES = str.maketrans(
    "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u0458\u0455\u0501\u04bb\u051b\u043a\u043c\u0442\u0432\u043d"
    "\u03bf\u03b1\u03b9\u03bd\u03c1\u03ba\u03c4\u03c5\u0131\u0261\u2010\u2011\u2012\u2013\u2014\u2212",
    "aceopxyijsdhqkmtbhoaivpktuig------",
)
"""Letters of other scripts that look like a Latin one, and dashes that look like a hyphen."""


def readable(text: str) -> str:
    """Return text as it looks to a reader: one case, compatibility forms and lookalikes folded, nothing invisible."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_LOOKALIKES)
    return "".join(c for c in folded if c in "\n\t" or unicodedata.category(c) not in _UNSEEN)


def _haystack(value: Any) -> str:
    """Return the flat texts of a JSON value, one after the other as a reader puts them together, and then its keys."""
    joined = ("".join(texts(value)), "".join(_keys(value)), *_by_field(value))
    return "\0".join(_flat(text) for text in joined)


@lru_cache(maxsize=1024)
def _needles(secret: str) -> frozenset[str]:
    raw = secret.encode()
    forms = {secret, secret[::-1], raw.hex(), quote(secret, safe=""), *_base64_forms(raw)}
    return frozenset(flat for form in forms if len(flat := _flat(form)) >= _SHORTEST)


def _base64_forms(raw: bytes) -> Iterator[str]:
    """Yield what base64 makes of the secret at each of the three alignments, without what its neighbours share."""
    for shift in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            text = encode(b"\0" * shift + raw).decode().rstrip("=")
            yield text[(shift * 8 + 5) // 6 : len(text) - (1 if (shift + len(raw)) % 3 else 0)]


def secret_labels(value: Any, secrets: Mapping[str, str]) -> list[str]:
    """Return the labels of the secrets that stand in a JSON value's texts or keys.

    Plain, spaced out, in another case, reversed, in hex, base64 or percent-encoding; split over texts or rows.
    """
    if not secrets:
        return []
    haystack = _haystack(value)
    decoded = _flat(unquote(haystack)) if "%" in haystack else haystack
    return sorted(
        label
        for label, secret in secrets.items()
        if any(needle in haystack or needle in decoded for needle in _needles(secret))
    )


def names_in(value: Any, names: Iterable[str]) -> list[str]:
    """Return the internal names that stand in a JSON value's texts."""
    haystack = _haystack(value)
    return sorted(name for name in names if _flat(name) in haystack)


def redact(value: Any, secrets: Mapping[str, str]) -> Any:
    """Return a JSON value with each secret's text replaced by its label in brackets, keys included.

    A value that holds no secret is returned as it is, any other as a changed copy.
    """
    marks = _marks(tuple(secrets.items()))
    return _redacted(value, marks) if _may_hold(value, marks) else value


@lru_cache(maxsize=64)
def _marks(secrets: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return what stands in for each way to write a secret, the longest first: one may stand inside another."""
    marks = {form: f"[redacted: {label}]" for label, secret in secrets if secret for form in _written(secret)}
    return tuple((mark, form) for form, mark in sorted(marks.items(), key=lambda item: -len(item[0])))


def _written(secret: str) -> set[str]:
    """Return the ways to write a secret that a record may hold: plain, in another case, encoded, backwards."""
    raw = secret.encode()
    encoded = {
        raw.hex(),
        raw.hex().upper(),
        quote(secret, safe=""),
        *_base64_forms(raw),
        *_base64_forms(secret.encode("utf-16-le")),
    }
    plain = {secret, secret.lower(), secret.upper(), secret[::-1]}
    return {secret} | {form for form in plain | encoded if len(form) >= _SHORTEST}


def _may_hold(value: Any, marks: Iterable[tuple[str, str]]) -> bool:
    """Tell whether any of the secrets can stand in a text of a JSON value: JSON escapes each character by itself."""
    try:
        whole = _WRITER.encode(value)
    except (TypeError, ValueError, RecursionError):  # no plain JSON
        return True
    return any(_escaped(secret) in whole for _, secret in marks)


_WRITER = json.JSONEncoder(ensure_ascii=False)


@lru_cache(maxsize=1024)
def _escaped(text: str) -> str:
    return _WRITER.encode(text)[1:-1]


def _redacted(value: Any, marks: Iterable[tuple[str, str]]) -> Any:
    if isinstance(value, str):
        for mark, secret in marks:
            value = value.replace(secret, mark)
        return value
    if isinstance(value, Mapping):
        return {_redacted(key, marks): _redacted(inner, marks) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(inner, marks) for inner in value]
    return value
