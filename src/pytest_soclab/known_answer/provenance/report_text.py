"""A stored report as text that a quoted fragment can be looked up in, with the ids that each place cites."""

from __future__ import annotations

import html
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from pytest_soclab.known_answer.basis.files import read_bytes, refuse
from pytest_soclab.known_answer.basis.verdicts import one_spaced
from pytest_soclab.known_answer.markdown.blocks import Heading, Prose, Table, newlines, read_blocks
from pytest_soclab.known_answer.markdown.inline import BARE_UNDERSCORES, without_comments
from pytest_soclab.known_answer.markdown.tables import CELL

SHORTEST_FRAGMENT = 12
MOST_SCANNED = 20_000_000_000  # characters that all fragments of a score may be looked up in

_ID = re.compile(r"(?<!\w)ev_\d+(?!\w)", re.ASCII)
_ESCAPED = re.compile(r"\\([*_`~|\[\]<>()])")
_LINK_TARGET = re.compile(r"\]\([^()\s]{0,2000}\)")
_MARKUP = str.maketrans("", "", "*`")
_QUOTED = re.compile(r'"([^"]*)"|“([^“”]*)”|„([^„“”]*)[“”]')
_ELLIPSIS = re.compile(r"\[\s?(?:…|\.\.\.)\s?\]|\(\s?(?:…|\.\.\.)\s?\)|…|\.\.\.")

_CITATION = r"[\[(]{0,2}\s?ev_\d++(?!\w)\s?[\])]{0,2}"
_CLOSERS = r"[\"'”’)\]]*+"
_MARK = re.compile(
    rf"(?P<citation>{_CITATION}(?:[\s,;]{{0,2}}(?:and )?{_CITATION})*+{_CLOSERS})"
    rf"|(?<![.!?])[.!?]++{_CLOSERS}(?=\s|$)"
)
_LAST_WORD = re.compile(r"[\w.]+$")
_ABBREVIATIONS = frozenset(
    {"e.g", "i.e", "cf", "vs", "fig", "no", "approx", "resp", "ca", "dr", "mr", "ms", "st", "al"}
)


def evidence_ids(text: str) -> list[str]:
    """Return the evidence ids that `text` names, in order: `[ev_0014,ev_0015]` is two, `ev_0014a` is none."""
    return list(dict.fromkeys(_ID.findall(BARE_UNDERSCORES.sub("", _ESCAPED.sub(r"\1", text))))) if "ev" in text else []


def normal(text: str) -> str:
    """Return `text` as fragments are compared: no emphasis, ticks, comments or link targets, spaces as one."""
    text = without_comments(text).translate(_MARKUP) if "\\" not in text else _unescaped(text)
    if "](" in text:
        text = _LINK_TARGET.sub("]", text)
    if "&" in text:
        text = html.unescape(text)
    return one_spaced(BARE_UNDERSCORES.sub("", text))


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(r"\1", without_comments(text)).translate(_MARKUP)


def fragments(row: str) -> list[str]:
    """Return the quoted fragments of a score row, as they are compared, each at least twelve characters."""
    found: list[str] = []
    for cell in row.split(CELL):
        for match in _QUOTED.finditer(html.unescape(cell)):
            parts = _ELLIPSIS.split(next(group for group in match.groups() if group is not None))
            found += [part for part in map(normal, parts) if len(part) >= SHORTEST_FRAGMENT]
    return list(dict.fromkeys(found))


@dataclass(slots=True)
class _Sentences:
    """Where the sentences of a block end, their closing citations included, and the ids of those citations."""

    ends: array[int] = field(default_factory=lambda: array("Q"))
    ids: list[tuple[str, ...]] = field(default_factory=list)

    def add(self, end: int, citation: re.Match[str] | None) -> None:
        """Take the next sentence."""
        self.ends.append(end)
        self.ids.append(_ids(citation))

    def close(self, citation: re.Match[str]) -> None:
        """Let a citation right behind the last sentence close it."""
        self.ends[-1] = citation.end()
        self.ids[-1] = _ids(citation)


@dataclass
class ReportText:
    """A report, one block of text or one table row a line, all as `normal` leaves them."""

    text: str
    starts: list[int]
    rows: frozenset[int]  # indices of the blocks that are table rows
    _sentences: dict[int, _Sentences] = field(default_factory=dict)
    _scanned: int = 0
    _known: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def cited(self, fragment: str) -> tuple[str, ...]:
        """Return the ids that credit a fragment, as `fragments` gives it, at all its places, each once."""
        if fragment not in self._known:
            self._known[fragment] = tuple(dict.fromkeys(self._cited(fragment)))
        return self._known[fragment]

    def _cited(self, fragment: str) -> Iterator[str]:
        inside = evidence_ids(fragment)
        places = set()
        self._scanned += len(self.text)
        if self._scanned > MOST_SCANNED:
            refuse("too many quoted fragments for a report of this size", expected="a score of ordinary length")
        at = self.text.find(fragment)
        while at >= 0:
            places.add(self._place(at + len(fragment)))
            at = self.text.find(fragment, at + len(fragment))
        for index, sentence in sorted(places):
            if index in self.rows:
                yield from evidence_ids(self.text[self.starts[index] : self._last(index)])
            else:
                yield from inside
                yield from self._in(index).ids[sentence]

    def _place(self, end: int) -> tuple[int, int]:
        """Return the block, and in prose the sentence, in which the text before `end` stands."""
        index = bisect_right(self.starts, end - 1) - 1
        if index in self.rows:
            return index, 0
        return index, bisect_left(self._in(index).ends, end)

    def _last(self, index: int) -> int:
        return self.starts[index + 1] - 1 if index + 1 < len(self.starts) else len(self.text)

    def _in(self, index: int) -> _Sentences:
        if index not in self._sentences:
            self._sentences[index] = _sentences(self.text, self.starts[index], self._last(index))
        return self._sentences[index]


def _sentences(text: str, first: int, last: int) -> _Sentences:
    """Return the sentences of one block, in order; the last one ends with the block."""
    found = _Sentences()
    citation: re.Match[str] | None = None
    uncited = -1  # where a citation has to start to close the sentence before it
    for mark in _MARK.finditer(text, first, last):
        if mark["citation"]:
            if mark.start() == uncited and _opens(text, mark.end(), last):
                found.close(mark)
            citation = mark
            continue
        before = citation if citation and citation.end() == mark.start() else None
        if before or _ends(text, mark, last):
            found.add(mark.end(), before)
            uncited = -1 if before else mark.end() + 1
    found.add(last, citation if citation and citation.end() == last else None)
    return found


def _ids(citation: re.Match[str] | None) -> tuple[str, ...]:
    return tuple(evidence_ids(citation[0])) if citation else ()


def _ends(text: str, stop: re.Match[str], last: int) -> bool:
    """Tell whether a full stop ends its sentence: no abbreviation stands before it, no small letter behind it."""
    word = _LAST_WORD.search(text[max(stop.start() - 12, 0) : stop.start()])
    if word and stop[0] == "." and (word[0].casefold() in _ABBREVIATIONS or (len(word[0]) == 1 and word[0].isalpha())):
        return False
    return _opens(text, stop.end(), last)


def _opens(text: str, at: int, last: int) -> bool:
    """Tell whether a new sentence, or nothing, follows at `at`."""
    following = text[at : min(at + 4, last)].lstrip(" .,;:")
    return not following or not following[0].islower()


def read_report(path: str) -> ReportText:
    """Return the report at `path`. Raises KnownAnswerError where it cannot be read."""
    parts: list[str] = []
    starts: list[int] = []
    rows: set[int] = set()
    at = 0
    for text, is_row in _parts(path):
        line = normal(text)
        if line:
            starts.append(at)
            parts.append(line)
            at += len(line) + 1
            if is_row:
                rows.add(len(starts) - 1)
    return ReportText("\n".join(parts), starts, frozenset(rows))


def _parts(path: str) -> Iterator[tuple[str, bool]]:
    for block in read_blocks(newlines(read_bytes(path)), path):
        if isinstance(block, Heading | Prose):
            yield block.source, False
        elif isinstance(block, Table):
            if not block.continued:
                yield " | ".join(block.header), True
            for row in block.rows:
                yield row.replace(CELL, " | "), True
