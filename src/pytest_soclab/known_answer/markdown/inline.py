"""Plain text of one Markdown cell or line: emphasis, code ticks, links and comments read away."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

BARE_UNDERSCORES = re.compile(r"(?<!\w)_++|(?<!_)_++(?!\w)")
"""Underscores at the edge of a word: emphasis, where those inside a name such as `ev_0014` are none."""

_SPECIAL = re.compile(r"[\\`*_\[\]<&]")
_MOST_SPECIALS = 80  # markdown-it-py is quadratic in unmatched brackets and ticks; a hand-written cell holds a handful
_LONGEST = 4000
_UNSEEN = re.compile(r"</?(?:a|b|i|em|strong|code|span|kbd|mark|small|u|font)(?:\s[^>]*)?/?>", re.IGNORECASE)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    rules = ["backticks", "escape", "emphasis", "link", "autolink", "html_inline", "entity", "newline"]
    return MarkdownIt("zero", {"html": True, "maxNesting": 40}).enable(rules)


def inline_text(source: str, references: frozenset[str] = frozenset()) -> str:
    """Return the text that a reader of the rendered `source` sees; `references` are the labels that links may name.

    Source that is too long or too dense for a label or a verdict keeps its markup, only ticks and asterisks go.
    """
    specials = len(_SPECIAL.findall(source)) if len(source) <= _LONGEST else _MOST_SPECIALS + 1
    if not specials:
        return source
    if specials > _MOST_SPECIALS:
        return source.replace("`", "").replace("*", "")
    tokens = _parser().parseInline(source, {"references": dict.fromkeys(references, _NOWHERE)})
    return "".join(_shown(child.type, child.content) for token in tokens for child in token.children or ())


_NOWHERE = {"href": "", "title": ""}


def _shown(kind: str, content: str) -> str:
    if kind in {"softbreak", "hardbreak"}:
        return " "
    if kind == "html_inline":
        return _html(content)
    return content


def _html(content: str) -> str:
    if content.startswith("<!--") or _UNSEEN.fullmatch(content):
        return ""
    return " " if _BREAK.fullmatch(content) else content


def without_comments(text: str) -> str:
    """Return `text` with HTML comments cut out, in one pass; an unclosed comment stays."""
    kept, start = [], 0
    while (opening := text.find("<!--", start)) >= 0:
        closing = text.find("-->", opening + 4)
        if closing < 0:
            break
        kept.append(text[start:opening])
        start = closing + 3
    kept.append(text[start:])
    return "".join(kept)
