"""Which column of an item table holds the run's verdicts, and what forbids to tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Protocol

from pytest_soclab.base.errors import quote
from pytest_soclab.known_answer.basis.files import refuse
from pytest_soclab.known_answer.basis.verdicts import begins_with_verdict
from pytest_soclab.known_answer.basis.vocabulary import Vocabulary

MOST_SEARCHED = 50  # columns among which the verdicts are looked for
_VERDICT_HEADERS = frozenset({"verdict", "score", "verdicts", "scores"})
_REMARK = re.compile(
    r"\b(?:notes?|remarks?|comments?|evidence|why|reasons?|rationale|explanations?|justification)\b", re.IGNORECASE
)
_COUNTS = re.compile(
    r"#|(?:weight|page|lines?|rows?|count|no\.?|nr\.?|n|year|date|id|section|priority|level|group|type|tier|size|step)s?"
)
_MARK = re.compile(r"[✓✔✅☑✗✘✕✖❌☒🟢🟡🟠🔴👍👎×]\ufe0f?|\[[ xX]?\]")
_NUMBER = re.compile(r"[+-]?\d{1,6}(?:[.,]\d{1,4})?(?:\s?(?:/|of)\s?\d{1,6}(?:[.,]\d{1,4})?)?\s?%?")
_OTHER_WORDS = frozenset(
    [
        "yes",
        "no",
        "y",
        "n",
        "true",
        "false",
        "pass",
        "fail",
        "passed",
        "failed",
        "ok",
        "ko",
        "hit",
        "miss",
        "seen",
        "unseen",
        "present",
        "absent",
        "covered",
        "detected",
        "stated",
        "full",
        "half",
        "none",
        "partial",
        "partially",
        "complete",
        "incomplete",
        "correct",
        "incorrect",
        "right",
        "x",
        "f",
        "p",
        "m",
        "w",
        "c",
        "i",
    ],
)
_NOT = re.compile(r"not (?:found|seen|stated|detected|covered|present)")
_NOTHING = frozenset({"", "-", "–", "—", "n/a", "?", "…"})


class Columns(Protocol):
    """What is asked of a table to find its verdicts."""

    @property
    def header(self) -> tuple[str, ...]:
        """The header's cells."""

    @property
    def rows(self) -> Sequence[str]:
        """The rows."""

    @property
    def line(self) -> int:
        """The line of the header."""

    @property
    def vocabulary(self) -> Vocabulary:
        """What words mean."""

    def title(self, column: int) -> str:
        """Return one header cell as a reader sees it."""

    def head(self, column: int) -> str:
        """Return one header cell in one case."""

    def column(self, column: int) -> Iterator[str]:
        """Yield the cells of one column."""


def find_verdict_column(table: Columns) -> int | None:
    """Return the first column, after the labels, that holds a scoring word; None where no column does.

    A column headed as the verdict, or whose cells open with a scoring word and a remark, is that column even where
    none of its cells is exact, so that a later run's column is not read in its place. One headed as a remark is none.
    """
    rows = len(table.rows)
    for column in range(1, min(len(table.header), MOST_SEARCHED)):
        head = table.head(column)
        if head in _VERDICT_HEADERS:
            return column
        if not _REMARK.search(head) and _holds_verdict(table, column, rows):
            return column
    return None


def _holds_verdict(table: Columns, column: int, rows: int) -> bool:
    marked = worded = 0
    for text in table.column(column):
        if table.vocabulary.knows(text):
            return True
        bare = _MARK.sub("", text).strip()
        marked += begins_with_verdict(bare, marker=True) or (bare != text and table.vocabulary.knows(bare))
        worded += begins_with_verdict(bare, marker=False)
    return marked * 2 > rows or worded == rows > 1


def verdict_column(table: Columns, path: str) -> int:
    """Return the column of the run's verdicts.

    Raises KnownAnswerError where there is none, or where a column before it plainly scores in other words.
    """
    column = find_verdict_column(table)
    if column is None:
        refuse(
            f"the item table {quote(' | '.join(table.header))} without a verdict column",
            path,
            table.line,
            expected=f"a column whose cells are {table.vocabulary.accepted}",
            remedy="add the column (one headed as a remark is none), or move the table out of the item section",
        )
    for before in range(1, column):
        if _scores_otherwise(table, before):
            refuse(
                f"the column {_named(table, before)} scores in other words, before the column"
                f" {_named(table, column)} with scoring words",
                path,
                table.line,
                expected=f"the run's own column first, in {table.vocabulary.accepted}",
                remedy="map its words with --words, or move the column behind the run's",
            )
    return column


def _named(table: Columns, column: int) -> str:
    return f"{column + 1} ({quote(table.title(column))})"


def _scores_otherwise(table: Columns, column: int) -> bool:
    """Tell whether the cells of a column are scores, only not in scoring words; a column of remarks scores nothing."""
    head = table.head(column)
    if _REMARK.search(head):
        return False
    texts = [text for text in map(str.casefold, table.column(column)) if text not in _NOTHING]
    if not texts:
        return False
    if all(_NUMBER.fullmatch(text) for text in texts):
        return not _COUNTS.fullmatch(head)
    words = sum(_is_other_word(text) for text in texts)
    return words * 3 >= 2 * len(texts)


def _is_other_word(text: str) -> bool:
    bare = _MARK.sub("", text).strip(" .!*()")
    return (bare != text and not bare) or bare in _OTHER_WORDS or bool(_NOT.fullmatch(bare) or _NUMBER.fullmatch(bare))
