"""The rows of a CSV file, whatever its delimiter, each with its line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from pytest_soclab.known_answer.basis.files import refuse


def sheet_rows(text: str, path: str, items: frozenset[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield line and cells of every row that is not blank; the header, which names one of `items`, shows the delimiter.

    Raises KnownAnswerError at a row whose quotes are not balanced.
    """
    head = next((line for line in io.StringIO(text) if line.strip()), "")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(head, items), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            refuse(f"CSV that cannot be read ({error})", path, line, expected="cells in balanced quotes")
        if any(cell.strip() for cell in row):
            yield line, row


def _delimiter(head: str, items: frozenset[str]) -> str:
    """Return the delimiter under which the header line names an item column, and the most columns."""

    def fit(delimiter: str) -> tuple[bool, int]:
        try:
            names = [cell.strip().casefold() for cell in next(csv.reader([head], delimiter=delimiter))]
        except (csv.Error, StopIteration):
            return False, 0
        return any(name in items for name in names), len(names)

    return max((",", ";", "\t"), key=fit)
