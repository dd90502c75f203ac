"""What a score file says about itself: the Totals line and the beyond-human count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_soclab.known_answer.basis.verdicts import UNKNOWN, is_verdict, one_spaced, read_verdict, word
from pytest_soclab.known_answer.markdown.inline import BARE_UNDERSCORES, without_comments

_MARKUP = str.maketrans("", "", "*`")
_BOLD_TOTALS = re.compile(r"(?:\*\*|__)(?=totals\s*:)", re.IGNORECASE)
_BOLD = "\x1e"  # stands for the emphasis of a Totals line that starts in the middle of a line
_TOTALS = re.compile(
    rf"(?:^[^\S\n]*|{_BOLD})totals(?:[^\S\n]*\(\d+ items?\))?"
    r"(?:[^\S\n]*[:=]|[^\S\n]*[–—-](?=[^\S\n])|(?=[^\S\n]+\d+[^\S\n]+(?:found|partly|missed|wrong)\b))",
    re.IGNORECASE | re.MULTILINE,
)
_PART = re.compile(
    r"\s*(?:(?P<count>\d{1,9})\s+(?P<word>[a-z]+(?:\s+\([a-z]+\))?)|credited\s+(?P<credited>\d{1,9})\s+of\s+(?P<of>\d{1,9}))",
    re.IGNORECASE | re.ASCII,
)
_SEPARATOR = re.compile(r"\s*(?:[/,;]|\band\b)", re.IGNORECASE)
_END = re.compile(r"[^\S\n]*\.?[^\S\n]*(?:\n(?!\s*[/,;])|\Z)")
_BEYOND = re.compile(
    r"(?<![\w.,~≈–—-])(\d{1,9})\s+facts?\s+(?:more\s+than|beyond)\b(?=\s+the\s+(?:human|analyst|report)|\s*[.;:,)]|\s*\Z)",
    re.IGNORECASE | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Totals:
    """A Totals line as it was read: counts by word (a missing word is 0), and `credited X of Y` where stated."""

    counts: dict[str, int]
    credited: tuple[int, int] | None
    line: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A Totals line that follows no known form: its text and its line."""

    text: str
    line: int


def plain(source: str) -> str:
    """Return prose without emphasis, ticks and comments; line ends stay, so that lines can be counted."""
    return BARE_UNDERSCORES.sub("", without_comments(source).translate(_MARKUP)).replace("\u00a0", " ")


def totals_lines(source: str, line: int) -> list[Totals | Unreadable]:
    """Return every Totals line of a block of prose that starts at `line`."""
    text = plain(_BOLD_TOTALS.sub(_BOLD, source))
    return [_read(text, match, at) for match, at in _placed(_TOTALS, text, line)]


def _placed(pattern: re.Pattern[str], text: str, line: int) -> Iterator[tuple[re.Match[str], int]]:
    """Yield every match with its line, counting line ends once."""
    counted = 0
    for match in pattern.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        yield match, line


def _read(text: str, start: re.Match[str], line: int) -> Totals | Unreadable:
    parts, end = _parts(text, start.end())
    counted = [part for part in parts if part["word"]]
    stated = [part for part in parts if part["credited"]]
    counts = {word(read_verdict(part["word"])): int(part["count"]) for part in counted}
    if not counts or len(counts) < len(counted) or len(stated) > 1 or not _END.match(text, end):
        return Unreadable(one_spaced(text[start.start() : start.start() + 500]), line)
    credited = (int(stated[0]["credited"]), int(stated[0]["of"])) if stated else None
    return Totals(counts, credited, line)


def _parts(text: str, at: int) -> tuple[list[re.Match[str]], int]:
    """Return the parts of a Totals line that can be read from `at` on, and where they end."""
    parts: list[re.Match[str]] = []
    end = at
    while (part := _PART.match(text, at)) and (part["credited"] or is_verdict(part["word"])):
        parts.append(part)
        end = part.end()
        separator = _SEPARATOR.match(text, end)
        if separator is None:
            break
        at = separator.end()
    return parts, end


def beyond_counts(source: str, line: int) -> list[tuple[int, int]]:
    """Return every stated beyond-human count of a block of prose, each with its line."""
    text = plain(source)
    return [(int(match[1]), at) for match, at in _placed(_BEYOND, text, line)]


def disagreements(totals: Totals, counted: dict[str, int], credited: int, items: int) -> list[str]:
    """Return what a Totals line says other than the item table, one sentence each with both numbers."""
    found = [
        f"{totals.counts.get(name, 0)} {name}, the item table holds {number}"
        for name, number in counted.items()
        if totals.counts.get(name, 0) != number and (name != UNKNOWN or name in totals.counts)
    ]
    if totals.credited and totals.credited != (credited, items):
        stated = totals.credited
        found.append(f"credited {stated[0]} of {stated[1]}, the item table gives credited {credited} of {items}")
    return found
