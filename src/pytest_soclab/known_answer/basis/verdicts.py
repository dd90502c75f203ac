"""Verdict words: what a cell may say and how the words rank."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum


class Verdict(Enum):
    """A scoring word, best first; its value is the word as it is printed."""

    FOUND = "found"
    PARTLY_BODY = "partly (body)"
    PARTLY_DUMP = "partly (dump)"
    MISSED = "missed"
    WRONG = "wrong"


UNKNOWN = "unknown"

RANK = {Verdict.FOUND: 4, Verdict.PARTLY_BODY: 3, Verdict.PARTLY_DUMP: 2, Verdict.MISSED: 1, Verdict.WRONG: 0}
CREDITED = frozenset({Verdict.FOUND, Verdict.PARTLY_BODY, Verdict.PARTLY_DUMP})
ACCEPTED = "one of found, partly (body), partly (dump), missed, wrong, unknown"

_WORDS: dict[str, Verdict | None] = {
    **{verdict.value: verdict for verdict in Verdict},
    "partly": Verdict.PARTLY_BODY,
    "partly (appendix)": Verdict.PARTLY_DUMP,
    UNKNOWN: None,
}


def one_spaced(text: str) -> str:
    """Return `text` without outer spaces and with every run of spaces, of any kind, as one."""
    return " ".join(text.split())


def is_verdict(text: str) -> bool:
    """Tell whether `text`, free of markup, is exactly one scoring word (`unknown` is one too)."""
    return one_spaced(text).casefold() in _WORDS


def read_verdict(text: str) -> Verdict | None:
    """Return the verdict that `text` is; None for `unknown`. Raises KeyError when it is no scoring word."""
    return _WORDS[one_spaced(text).casefold()]


def begins_with_verdict(text: str, *, marker: bool) -> bool:
    """Tell whether `text` starts with a scoring word and goes on: with a `marker` (no letter), or with more words."""
    match = _OPENING.match(one_spaced(text))
    return match is not None and (not marker or not match[1])


_OPENING = re.compile(
    r"(?:found|partly|missed|wrong|unknown)\b(?:\s\((?:body|dump|appendix)\))?\s*(\w?)", re.IGNORECASE
)


def word(verdict: Verdict | None) -> str:
    """Return the printed word of a verdict, `unknown` where there is none."""
    return verdict.value if verdict else UNKNOWN


def totals(verdicts: Iterable[Verdict | None]) -> dict[str, int]:
    """Return how often each word stands among `verdicts`, every word named, `unknown` last."""
    counts = {verdict.value: 0 for verdict in Verdict} | {UNKNOWN: 0}
    for verdict in verdicts:
        counts[word(verdict)] += 1
    return counts


def credited(counts: dict[str, int]) -> int:
    """Return how many items of these totals are credited."""
    return sum(counts[verdict.value] for verdict in CREDITED)
