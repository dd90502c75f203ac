"""Item keys: what makes two labels one item."""

from __future__ import annotations

import re

from pytest_soclab.known_answer.basis.verdicts import one_spaced

BEYOND_HUMAN = "beyond-human"

_END = r"(?![\w])(?!\.\d)"
_CODE = re.compile(
    rf"(?P<group>K\d+)(?: (?P<technique>T\d{{4}}(?:\.\d{{3}})?)|(?P<part>(?:\.\d+)+| \d+)(?P<letter>[a-z]?)){_END}",
    re.ASCII | re.IGNORECASE,
)
_GROUP = re.compile(r"K\d+\b", re.ASCII | re.IGNORECASE)
_AROUND_SLASH = re.compile(r" ?/ ?")


def item_key(label: str) -> str:
    """Return the key of an item label that is free of markup: its leading code, or the whole label in one case."""
    text = one_spaced(label)
    code = _CODE.match(text)
    if code is None:
        return _AROUND_SLASH.sub("/", text).casefold()
    if code["technique"]:
        return f"{code['group']} {code['technique']}".upper()
    return code["group"].upper() + code["part"] + code["letter"].lower()


def has_code(label: str) -> bool:
    """Tell whether a label starts with an item code such as `K3.2`, `K7 17` or `K10 T1027`."""
    return _CODE.match(one_spaced(label)) is not None


def has_group(label: str) -> bool:
    """Tell whether a label starts with a group such as `K9`, with or without an item code."""
    return _GROUP.match(one_spaced(label)) is not None


def technique_of(key: str) -> str | None:
    """Return the ATT&CK technique that an item key names (`K10 T1027` gives `T1027`), or None."""
    code = _CODE.fullmatch(key)
    return code["technique"] if code else None
