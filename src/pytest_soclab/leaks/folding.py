"""Folds texts so that the same word written in another way reads the same.

`strict` keeps the letters and digits of a text in one case, with look-alikes of other scripts and compatibility forms
as the ASCII letter that they resemble; `loose` also takes digits for the letters that they are mistaken for. Neither
keeps separators, marks or anything that is not seen.
"""

from __future__ import annotations

import re
import unicodedata

_SMALL = (
    ("аеорсухіјѕһӏԁԛԝьгкмтвнпдз", "aeopcyxijshldqwbrkmtbhndz"),  # Cyrillic
    ("αβγεηικνορτυχωσς", "abyenikvoptuxwoc"),  # Greek
    ("օսոցհ", "ounqh"),  # Armenian
    ("ıɑɡɩ", "iagi"),
    ("‐‑‒–—―−∕⁄", "-------//"),
)
_CAPITALS = ("ΗΝΥΙΖ", "HNYIZ")  # capitals whose small letter looks like another one
_LOOKALIKES = str.maketrans("".join(theirs for theirs, _ in _SMALL), "".join(ours for _, ours in _SMALL))
"""Letters of other scripts by the letter that they are mistaken for; the choice follows the confusables of UTS 39."""
_CAPITAL_LOOKALIKES = str.maketrans(*_CAPITALS)
_NAMED = re.compile(
    r"^(?:[A-Z -]*\b)?(?:LATIN|REGIONAL INDICATOR SYMBOL)\b[A-Z -]*?\bLETTER ([A-Z])(?: WITH .*)?$|"
    r"LATIN LETTER SMALL CAPITAL ([A-Z])$"
)
_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Mn", "Me"})


class _Folded(dict[int, str | None]):
    """Maps a character to the letters and digits that a reader takes it for; each is worked out once."""

    def __missing__(self, code: int) -> str | None:
        found = self[code] = _letters(chr(code)) or None
        return found


def _letters(char: str) -> str:
    plain = unicodedata.normalize("NFKD", char).translate(_CAPITAL_LOOKALIKES).casefold().translate(_LOOKALIKES)
    kept = "".join(c for c in plain if c.isascii() and c.isalnum())
    if kept or char.isascii() or unicodedata.category(char) in _UNSEEN:
        return kept
    named = _NAMED.search(unicodedata.name(char, ""))
    if named:
        return (named[1] or named[2]).lower()
    digit = unicodedata.digit(char, None)
    return str(digit) if digit is not None else "".join(c for c in plain if c.isalnum())


class _Shown(dict[int, str | None]):
    """Maps a character to plain ASCII of the same case where it looks like some, and what nobody sees to nothing."""

    def __missing__(self, code: int) -> str | None:
        found = self[code] = _as_typed(chr(code)) or None
        return found


def _as_typed(char: str) -> str:
    if char.isascii():
        return char if char.isprintable() or char in "\n\t\r" else ""
    if unicodedata.category(char) in _UNSEEN:
        return ""
    plain = unicodedata.normalize("NFKC", char).translate(_CAPITAL_LOOKALIKES)
    if plain.isascii():
        return plain
    small = plain.casefold().translate(_LOOKALIKES)
    if not small.isascii():
        return plain
    return small if plain == plain.casefold() else small.upper()


_FOLDED, _SHOWN = _Folded(), _Shown()
_MISTAKEN = str.maketrans("01i", "oll")


def strict(text: str) -> str:
    """Return the letters and digits of a text in one case, look-alikes as what they look like."""
    return text.translate(_FOLDED)


def loose(folded: str) -> str:
    """Return a strictly folded text with the digits 0 and 1 as the letters that they are mistaken for."""
    return folded.translate(_MISTAKEN)


def shown(text: str) -> str:
    """Return a text as a reader would type it: case and separators kept, look-alikes as ASCII, nothing invisible."""
    return text.translate(_SHOWN)
