"""What a score file says about itself: its totals and its beyond-human count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_soclab.known_answer.basis.verdicts import is_verdict, one_spaced, read_verdict, word
from pytest_soclab.known_answer.markdown.inline import BARE_UNDERSCORES, without_comments

PARTLY = "partly"
"""The word of a count that holds both kinds of partly."""

_MARKUP = str.maketrans("", "", "*`")
_NAME = r"(?:(?:grand|overall)[^\S\n]+)?totals?"
_BOLD_TOTALS = re.compile(rf"(?:\*\*|__)(?={_NAME}\b[^*\n]{{0,70}}:)", re.IGNORECASE)
_BOLD = "\x1e"  # stands for the emphasis of a Totals line that starts in the middle of a line
_WORDS = r"(?:found|partly|missed|wrong|unknown)\b"
_TOTALS = re.compile(
    rf"(?:^[^\S\n]*|{_BOLD})(?P<lead>{_NAME}|overall|in total|sum|tally)(?:[^\S\n]*\(\d+ items?\))?"
    r"(?P<who>[^\S\n]+(?:for|of|in)[^\S\n]+[^\n:=]{1,60}?|[^\S\n]*\([^()\n]{1,60}\))?"
    rf"(?:[^\S\n]*[:=]|[^\S\n]*[–—-](?=[^\S\n])|(?=,?[^\S\n]+\d+[^\S\n]+{_WORDS}),?)",
    re.IGNORECASE | re.MULTILINE,
)
_PLAIN = re.compile(
    rf"^[^\S\n]*(?:(?P<who>[^\n:|]{{1,60}}):[^\S\n]*)?(?=\d{{1,9}}\s+{_WORDS})", re.IGNORECASE | re.MULTILINE
)
_PART = re.compile(
    r"\s*(?:(?P<count>\d{1,9})\s*[x×]?\s+(?P<word>[a-z]+(?:\s+\([a-z]+\))?)"
    r"|credited\s+(?P<credited>\d{1,9})\s+of\s+(?P<of>\d{1,9})"
    r"|(?P<before>(?:found|partly|missed|wrong|unknown)(?:\s+\([a-z]+\))?)\s*[:=]?\s*(?P<after>\d{1,9})\b)",
    re.IGNORECASE | re.ASCII,
)
_SHARE = r"(?P<count{0}>\d{{1,9}})\s*(?:/|(?:out )?of)\s*(?P<of{0}>\d{{1,9}})(?:\s+(?:key\s+)?(?:items?|facts?))?"
_SHARED = r"credited|found|missed|wrong"
_SHARES = re.compile(
    r"^[^\S\n]*(?:(?P<who>[^\n:|]{1,60}):[^\S\n]*|(?:overall|altogether|in (?:total|all)),?[^\S\n]+)?"
    rf"(?:(?P<before>{_SHARED})\s*[:=]?\s*{_SHARE.format(1)}"
    rf"|{_SHARE.format(2)}(?:\s+(?:are|is|was|were))?\s+(?P<after>{_SHARED}))[^\S\n]*\.?[^\S\n]*$",
    re.IGNORECASE | re.MULTILINE | re.ASCII,
)
_CREDITED = re.compile(r"\bcredited\b.*?\b\d+ ?(?:/|of) ?\d+\b|\b\d+ ?(?:/|of) ?\d+\b.*?\bcredited\b", re.IGNORECASE)
_SEPARATOR = re.compile(r"\s*(?:[/,;·+]|\band\b)", re.IGNORECASE)
_END = re.compile(r"[^\S\n]*\.?[^\S\n]*(?:\n(?!\s*[/,;])|\Z)")
_COUNTED = re.compile(rf"\b\d+\s+{_WORDS}", re.IGNORECASE)
_GENERIC = re.compile(r"(?:results?|scores?|summary|verdicts?|count(?:s|ed)?|overall|all|here|this run)", re.IGNORECASE)
_BEYOND = re.compile(
    r"(?<![\w.,~≈–—-])(\d{1,9})\s+facts?\s+(?:more\s+than|beyond)\b(?=\s+the\s+(?:human|analyst|report)|\s*[.;:,)]|\s*\Z)",
    re.IGNORECASE | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals as they are stated: counts by word, how many are credited or listed, of which run or group.

    With `whole` a word that is not named is 0. `place` says in a message what states them.
    """

    counts: dict[str, int]
    line: int
    credited: tuple[int, int] | None = None
    who: str = ""
    whole: bool = True
    items: int | None = None
    credits: int | None = None
    place: str = "the Totals line"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Totals that follow no known form: their text and line; `refused` where the form is the documented line's."""

    text: str
    line: int
    refused: bool = True


Stated = Totals | Unreadable


def plain(source: str) -> str:
    """Return prose without emphasis, ticks and comments; line ends stay, so that lines can be counted."""
    return BARE_UNDERSCORES.sub("", without_comments(source).translate(_MARKUP)).replace("\u00a0", " ")


def totals_lines(source: str, line: int, *, heading: bool = False) -> list[Stated]:
    """Return all totals that a block of prose states, whose first line is `line`; a heading may only name them."""
    text = plain(_BOLD_TOTALS.sub(_BOLD, source))
    found: list[Stated] = []
    taken: list[range] = []
    for match, at in _placed(_TOTALS, text, line):
        stated, end = _read(text, match, at, whole=True)
        if not (heading and isinstance(stated, Unreadable)):
            found.append(stated)
            taken.append(range(match.start(), max(end, match.end())))
    for match, at in _placed(_PLAIN, text, line):
        if any(match.start() < span.stop and span.start <= match.end() for span in taken):
            continue
        stated, end = _read(text, match, at, whole=False)
        if isinstance(stated, Totals) and len(stated.counts) > 1:
            found.append(stated)
            taken.append(range(match.start(), end))
    for match, at in _placed(_SHARES, text, line):
        if not any(match.start() < span.stop and span.start <= match.end() for span in taken):
            found.append(_share(match, at))
            taken.append(range(match.start(), match.end()))
    return [*found, *_rest(text, line, taken)]


def _share(match: re.Match[str], line: int) -> Totals:
    """Return the totals of `credited 51 of 57` or `35 of 57 items were found`, said alone."""
    name = (match["before"] or match["after"]).casefold()
    number, of = (int(match[f"{part}1"] or match[f"{part}2"]) for part in ("count", "of"))
    who = _named(one_spaced(match["who"] or ""))
    if name == "credited":
        return Totals({}, line, (number, of), who, whole=False, place="the sentence")
    return Totals({name: number}, line, None, who, whole=False, items=of, place="the sentence")


def _rest(text: str, line: int, taken: list[range]) -> Iterator[Unreadable]:
    """Yield the lines that count two words, or how many are credited, and are no totals that could be read."""
    start = 0
    for number, written in enumerate(text.split("\n")):
        inside = any(start < span.stop and span.start < start + len(written) for span in taken)
        if not inside and (len(_COUNTED.findall(written)) > 1 or _CREDITED.search(written[:500])):
            yield Unreadable(one_spaced(written[:500]), line + number, refused=False)
        start += len(written) + 1


def _placed(pattern: re.Pattern[str], text: str, line: int) -> Iterator[tuple[re.Match[str], int]]:
    """Yield every match with its line, counting line ends once."""
    counted = 0
    for match in pattern.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        yield match, line


def _read(text: str, start: re.Match[str], line: int, *, whole: bool) -> tuple[Stated, int]:
    parts, end = _parts(text, start.end())
    counted = [
        (part["word"] or part["before"], part["count"] or part["after"]) for part in parts if not part["credited"]
    ]
    stated = [part for part in parts if part["credited"]]
    counts = _kinds({" ".join(name.casefold().split()): int(number) for name, number in counted})
    who = one_spaced(start["who"] or "").strip("()").strip()
    if not counts or len(counts) < len(counted) or len(stated) > 1 or not _END.match(text, end):
        lead = start.groupdict().get("lead") or ""
        refused = lead.casefold() == "totals" and not who
        return Unreadable(
            one_spaced(text[start.start() : start.start() + 500]).lstrip(_BOLD), line, refused
        ), start.end()
    credited = (int(stated[0]["credited"]), int(stated[0]["of"])) if stated else None
    return Totals(counts, line, credited, _named(who), whole), end


def _named(who: str) -> str:
    """Return the run or group that totals are said to be of, empty for a word that names none."""
    name = re.sub(r"^(?:for|of|in)\s+", "", who, flags=re.IGNORECASE)
    return "" if _GENERIC.fullmatch(name) or re.fullmatch(r"\d+ items?", name) else name


def _kinds(counts: dict[str, int]) -> dict[str, int]:
    """Return counts by printed word; a bare `partly` beside no named kind counts both kinds."""
    named = any(name.startswith("partly (") for name in counts)
    return {
        PARTLY if name == PARTLY and not named else word(read_verdict(name)): number for name, number in counts.items()
    }


def _parts(text: str, at: int) -> tuple[list[re.Match[str]], int]:
    """Return the parts of a Totals line that can be read from `at` on, and where they end."""
    parts: list[re.Match[str]] = []
    end = at
    while (part := _PART.match(text, at)) and (part["credited"] or is_verdict(part["word"] or part["before"])):
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
