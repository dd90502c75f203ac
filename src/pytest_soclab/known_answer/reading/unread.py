"""What looks like a scored item and stands in no table: bullets, definitions, HTML, fences, plain lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

from pytest_soclab.base.errors import Fault, quote
from pytest_soclab.known_answer.basis.keys import LabelError, group_of
from pytest_soclab.known_answer.basis.verdicts import one_spaced
from pytest_soclab.known_answer.basis.vocabulary import Vocabulary
from pytest_soclab.known_answer.markdown.blocks import Heading, Prose
from pytest_soclab.known_answer.markdown.inline import inline_text
from pytest_soclab.known_answer.markdown.tables import cells
from pytest_soclab.known_answer.reading.item_tables import says_elsewhere, says_item_by_item

_WORD = r"(?:found|partly(?: \((?:body|dump|appendix)\))?|missed|wrong|unknown)"
_SEPARATOR = r"(?:\s*(?:[:=|→]|->|=>)\s*|\s+[-–—]{1,2}\s+|\s*\(\s*)"
_CHEAP = re.compile(r"found|partly|missed|wrong|unknown|K\s?\d", re.IGNORECASE)
_MARKS = re.compile(r"(?:\[[ xX]\]|[^\w\s<(\[`'\"]+|\(?\d{1,3}[.)])\s*")
_SCORED = re.compile(rf"(?P<label>\S.{{0,300}}?){_SEPARATOR}{_WORD}(?=\s*(?:[.;()!—–-]|\Z))", re.IGNORECASE)
_ENDING = re.compile(rf"(?P<label>\S.{{0,300}}?)[\s,;]+{_WORD}\s*[.!)]?", re.IGNORECASE)
_LEADING = re.compile(rf"{_WORD}{_SEPARATOR}(?P<label>\S.*)", re.IGNORECASE)
_ALONE = re.compile(rf"(?:(?:verdict|score|scored|result|rating)(?: is)?\s*[:=–—-]?\s*)?{_WORD}\s*[.!]?", re.IGNORECASE)
_VERDICT = re.compile(rf"(?<!\w){_WORD}(?!\w)", re.IGNORECASE)
_COUNTED = re.compile(rf"\b\d+ {_WORD}\b", re.IGNORECASE)
_DEFINED = re.compile(r"\s*:\s+")
_TAG = re.compile(r"<[^<>]{0,2000}>")
_CELLS = re.compile(r"<(?:td|th|li|dt|dd|p)\b", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LONGEST = 4000


@dataclass(frozen=True, slots=True)
class Unread:
    """A line that may hold an item, as it is written; `scored` says that it carries a verdict too."""

    line: int
    text: str
    label: str
    scored: bool
    titles: tuple[str, ...]


def unread_lines(block: Prose | Heading, titles: tuple[str, ...], vocabulary: Vocabulary) -> Iterator[Unread]:
    """Yield the lines of a block that may hold an item which no table holds."""
    if says_elsewhere(titles) or not _worth(block.source, vocabulary):
        return
    among = says_item_by_item(titles)
    for number, label, text, scored in _found(block, among, vocabulary):
        yield Unread(block.line + number, one_spaced(text), label, scored, titles)


def _worth(source: str, vocabulary: Vocabulary) -> bool:
    return bool(_CHEAP.search(source) or vocabulary.pattern or vocabulary.words)


def _found(block: Prose | Heading, among: bool, words: Vocabulary) -> Iterator[tuple[int, str, str, bool]]:
    if isinstance(block, Heading):
        text = _plain(block.source)
        if (scored := _SCORED.match(text)) and words.has_group(text):
            yield 0, scored["label"], block.source, True
    elif block.kind == "html":
        yield from _in_html(block, among, words)
    elif block.kind in {"fence", "open fence", "code"}:
        yield from _in_fence(block, among, words)
    elif block.kind == "paragraph":
        yield from _in_text(block, among, words)


def _in_text(block: Prose, among: bool, words: Vocabulary) -> Iterator[tuple[int, str, str, bool]]:
    lines = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), block.source).split("\n")
    for number, line in enumerate(lines):
        text = _plain(line)
        follows = lines[number + 1] if number + 1 < len(lines) else ""
        if _DEFINED.match(follows) and _VERDICT.search(_plain(follows)) and (among or words.has_group(text)):
            yield number, text, line, True
        elif _ALONE.fullmatch(text) and among:
            yield number, "", line, True
        elif (found := _item(text, words, listed=block.listed, among=among)) is not None:
            yield number, found[0], line, found[1]


def _plain(line: str) -> str:
    text = one_spaced(inline_text(line.strip()[:_LONGEST]))
    while marks := _MARKS.match(text):
        text = text[marks.end() :]
    return text


def _item(text: str, words: Vocabulary, *, listed: bool, among: bool) -> tuple[str, bool] | None:
    """Return label and whether a verdict follows, where a line may be an item's."""
    if leading := _LEADING.match(text):
        return (leading["label"], True) if words.has_group(leading["label"]) else None
    scored = _SCORED.match(text) or _ENDING.fullmatch(text)
    if words.has_group(text):
        if not words.has_code(text) and _COUNTED.search(text):
            return None  # totals of a group
        if scored or _ends_in_own_word(text, words):
            return (scored["label"] if scored else text), True
        return (text, bool(_VERDICT.search(text))) if listed else None
    found = _SCORED.match(text)
    return (found["label"], True) if among and found and not _COUNTED.search(text) else None


def _ends_in_own_word(text: str, words: Vocabulary) -> bool:
    return bool(words.words) and words.knows(text.rpartition(" ")[2])


def _in_fence(block: Prose, among: bool, words: Vocabulary) -> Iterator[tuple[int, str, str, bool]]:
    first = 1 if block.kind == "fence" else 0  # the line that opens the fence is not in its source
    for number, line in enumerate(block.source.split("\n"), first):
        if not line.strip():
            continue
        if "|" in line:
            texts = [one_spaced(inline_text(cell)) for cell in cells(line.strip())[:8]]
            if texts and any(map(words.knows, texts[1:])) and (among or words.has_group(texts[0])):
                yield number, texts[0], line, True
        elif (found := _item(_plain(line), words, listed=False, among=among)) is not None:
            yield number, found[0], line, found[1]


def _in_html(block: Prose, among: bool, words: Vocabulary) -> Iterator[tuple[int, str, str, bool]]:
    """Yield the lines of HTML whose cells hold a label, where a verdict stands in the block too."""
    source = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), block.source)
    if not _CELLS.search(source):
        return
    lines = [[one_spaced(cell) for cell in _TAG.split(line) if cell.strip()] for line in source.split("\n")]
    if not any(_is_scored(cell, words) for line in lines for cell in line):
        return
    labelled = False
    for number, texts in enumerate(lines):
        for label in filter(words.has_group, texts):
            labelled = True
            yield number, label, label, True
    if among and not labelled:
        yield 0, "", block.source.split("\n")[0], True


def _is_scored(cell: str, words: Vocabulary) -> bool:
    return words.knows(cell) or _SCORED.match(cell) is not None


def lost(found: Iterable[Unread], items: Set[str], vocabulary: Vocabulary, *, under: bool) -> Iterator[Unread]:
    """Yield the lines whose item no table holds; `under`: only what stands under "Item by item" is scored."""
    groups = {group for key in items if (group := group_of(key))}
    for line in found:
        if under and not says_item_by_item(line.titles) and not _scored_section(line, vocabulary):
            continue
        if not line.scored and not vocabulary.has_code(line.label) and group_of(line.label) in groups:
            continue
        if not line.label or not set(_keys(line.label, vocabulary)) <= items:
            yield line


def _scored_section(line: Unread, vocabulary: Vocabulary) -> bool:
    """Tell whether a line outside the item section stands under a heading that names a group of items."""
    return bool(line.titles) and vocabulary.has_group(line.titles[0])


def _keys(label: str, vocabulary: Vocabulary) -> tuple[str, ...]:
    try:
        return vocabulary.keys(label)
    except LabelError:
        return ("",)


def unread_fault(path: str, line: int, what: str, text: str) -> Fault:
    """Return the fault of something that may be an item and is not read."""
    return Fault(
        f"{what} that is not read as an item: {quote(text)}",
        path,
        line,
        expected="every item in a row of an item table",
        remedy="write it as a row, or give --allow-unread",
    )


def stray_row(
    block: Prose, references: frozenset[str], vocabulary: Vocabulary, *, among_items: bool
) -> tuple[int, str] | None:
    """Return line and text of the first line of prose that is an item row, with a label and a verdict in its cells.

    The label starts with a group; `among_items`, under "Item by item", a line with its pipes may have any label. A
    closed comment is read as nothing, one that is left open has swallowed what follows.
    """
    if block.kind == "fence" or (block.source.startswith("<!--") and "-->" in block.source):
        return None
    for number, line in enumerate(block.source.split("\n")):
        if "|" not in line:
            continue
        texts = [one_spaced(inline_text(cell, references)) for cell in cells(line.strip())[:8]]
        has_verdict = any(map(vocabulary.knows, texts[1:]))
        if is_item_row(texts, vocabulary) or (among_items and line.strip()[0] == "|" and has_verdict):
            return block.line + number, one_spaced(line)
    return None


def is_item_row(texts: list[str], vocabulary: Vocabulary) -> bool:
    """Tell whether cells are an item's: a label that starts with a group, and a verdict."""
    return bool(texts) and vocabulary.has_group(texts[0]) and any(map(vocabulary.knows, texts[1:]))
