"""Item keys: what makes two labels one item, and which items a label names."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from pytest_soclab.known_answer.basis.verdicts import one_spaced

BEYOND_HUMAN = "beyond-human"
MOST_IN_RANGE = 200

_END = r"(?![\w])(?!\.\d)"
_BODY = r"(?: (?P<technique>T\d{4}(?:\.\d{3})?)|(?P<part>(?:\.\d+)+| \d+)(?P<letter>[a-z]?))"
_CODE = re.compile(rf"(?P<group>K\d+){_BODY}{_END}", re.ASCII | re.IGNORECASE)
_LATER = re.compile(rf"(?<![\w.]){_CODE.pattern}", re.ASCII | re.IGNORECASE)
_GROUP = re.compile(r"K\d+\b", re.ASCII | re.IGNORECASE)
_AROUND_SLASH = re.compile(r" ?/ ?")
_JOINED = re.compile(r" ?(?:[/,;+&]|\band\b|\bbis\b|\bto\b|[-–—]) ?(?=K\d)", re.ASCII | re.IGNORECASE)
_RANGE = re.compile(r" ?(?:[-–—]|\bto\b|\bbis\b) ?\Z", re.IGNORECASE)
_SHORTENED = re.compile(
    r"(?: ?[/+&;] ?| ?, ?| and |[-–—])(?:T\d{4}(?:\.\d{3})?\b|\.?\d+(?:\.\d+)*[a-z]?\b)"
    r"|(?: ?[/+&] ?|[-–—])[a-z]\b|,? ?,? ?(?:,|\band\b) ?[b-h]\b",
    re.ASCII | re.IGNORECASE,
)
_NUMBER = re.compile(r"(?P<head>.*?)(?P<number>\d+)\Z", re.ASCII)
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad")) | {0x2010: "-", 0x2011: "-"}


_remembered = lru_cache(maxsize=512)  # the runs of an arm name the same items; larger costs memory and saves no time


class LabelError(Exception):
    """A label names several items in a way that does not tell which."""


def folded(label: str) -> str:
    """Return a label with compatibility forms, invisible characters and blanks folded; case and words stay."""
    if label.isascii():
        return one_spaced(label)
    return one_spaced(unicodedata.normalize("NFKC", label).translate(_INVISIBLE))


def item_key(label: str) -> str:
    """Return the key of an item label that is free of markup: its leading code, or the whole label in one case."""
    text = folded(label)
    code = _CODE.match(text)
    return _AROUND_SLASH.sub("/", text).casefold() if code is None else _of(code)


@_remembered
def item_keys(label: str) -> tuple[str, ...]:
    """Return the keys of every item that a label names: one, or those of the codes that it starts with.

    `K2.6 / K5.3 update file` names two items, `K3.1–K3.3` three. Raises LabelError where a further code is shortened
    (`K7 2/3`), for then the items cannot be told.
    """
    text = folded(label)
    code = _CODE.match(text)
    if code is None:
        return (item_key(text),)
    keys = [_of(code)]
    end = code.end()
    while (joined := _JOINED.match(text, end)) and (code := _CODE.match(text, joined.end())):
        keys += _upto(keys[-1], _of(code)) if _RANGE.match(joined[0]) else [_of(code)]
        end = code.end()
    if joined := _SHORTENED.match(text, end):
        raise LabelError(f"{text[: joined.end()]!r} shortens a further code")
    return tuple(dict.fromkeys(keys))


def _upto(first: str, last: str) -> list[str]:
    """Return the keys after `first` up to `last`. Raises LabelError where the two span no range."""
    start, stop = _NUMBER.match(first), _NUMBER.match(last)
    if start is None or stop is None or start["head"] != stop["head"]:
        raise LabelError(f"{first} to {last} is no range")
    numbers = range(int(start["number"]) + 1, int(stop["number"]) + 1)
    if not 0 < len(numbers) < MOST_IN_RANGE or "T" in start["head"].upper():
        raise LabelError(f"{first} to {last} is no range")
    return [f"{start['head']}{number}" for number in numbers]


@_remembered
def mentioned_keys(label: str) -> tuple[str, ...]:
    """Return the keys of all codes that stand anywhere in a label."""
    return tuple(dict.fromkeys(_of(code) for code in _LATER.finditer(folded(label))))


def _of(code: re.Match[str]) -> str:
    if code["technique"]:
        return f"{code['group']} {code['technique']}".upper()
    return code["group"].upper() + code["part"] + code["letter"].lower()


@_remembered
def has_code(label: str) -> bool:
    """Tell whether a label starts with an item code such as `K3.2`, `K7 17` or `K10 T1027`."""
    return _CODE.match(folded(label)) is not None


@_remembered
def has_group(label: str) -> bool:
    """Tell whether a label starts with a group such as `K9`, with or without an item code."""
    return _GROUP.match(folded(label)) is not None


@_remembered
def group_of(text: str) -> str | None:
    """Return the group that a label, key or heading starts with (`K9 own hashes` gives `K9`), or None."""
    group = _GROUP.match(folded(text))
    return group[0].upper() if group else None


def technique_of(key: str) -> str | None:
    """Return the ATT&CK technique that an item key names (`K10 T1027` gives `T1027`), or None."""
    code = _CODE.fullmatch(key)
    return code["technique"] if code else None
