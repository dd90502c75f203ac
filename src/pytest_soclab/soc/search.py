"""The query language of `siem.search`: words, `field:value`, quoted values, `*`, `NOT` and `OR`.

A query is a sequence of terms that all must hold; `OR` separates alternatives and binds weaker. Case does not matter.
A word without a field is looked for in every value of the event. A field is an OCSF name (`device.hostname`), the
shorthand of one (`host`), or one of the aliases below, which look in several fields at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from pytest_soclab.base.errors import nearest
from pytest_soclab.soc.events import OWN_FIELDS, SHORTHANDS, haystack
from pytest_soclab.soc.world import Row

Test = Callable[[Row], bool]

ALIASES: Mapping[str, tuple[str, ...]] = {
    **{name: (field,) for name, field in SHORTHANDS.items()},
    "user": ("actor.user.name", "user.name"),
    "host": ("device.hostname", "src_endpoint.hostname", "dst_endpoint.hostname"),
    "ip": ("src_endpoint.ip", "dst_endpoint.ip"),
    "process": ("process.name", "process.cmd_line", "process.parent_process.name"),
    "domain": ("query.hostname", "dst_endpoint.hostname", "http_request.url.url_string"),
    "hash": ("file.hashes.sha256",),
    "file": ("file.name", "file.path"),
}
"""What a short field name stands for; each event field that one of them names is tried."""

_CONTAINS = frozenset({
    "message", "process.cmd_line", "http_request.user_agent", "http_request.url.url_string", "email.subject",
    "tls.certificate.subject", "status_detail", "file.path", "answers.rdata", "finding_info.title",
})  # fmt: skip
"""Fields of running text: a value need only occur in them."""

_TERM = re.compile(r'(?P<not>-)?(?:(?P<field>[A-Za-z_][\w.]*):)?(?:"(?P<quoted>[^"]*)"|(?P<bare>[^\s"]+))')
_SPACE = re.compile(r"\s*")


class QueryError(ValueError):
    """The query cannot be read; its text says where and what to do."""


@dataclass(frozen=True, slots=True)
class Query:
    """A compiled query; `notes` tells the reader about terms that were taken in another way than written."""

    alternatives: tuple[tuple[Test, ...], ...]
    notes: tuple[str, ...] = ()

    def matches(self, row: Row) -> bool:
        """Tell whether an event row satisfies the query; an empty query is satisfied by every one."""
        for tests in self.alternatives:
            for test in tests:
                if not test(row):
                    break
            else:
                return True
        return False

    def select(self, rows: Iterable[Row]) -> list[Row]:
        """Return the rows that satisfy the query, in their order."""
        return [row for row in rows if self.matches(row)]


@lru_cache(maxsize=512)
def compile_query(text: str) -> Query:
    """Compile a query.

    Raises:
        QueryError: when a quote is left open or a value is missing.
    """
    alternatives: list[list[Test]] = [[]]
    notes: list[str] = []
    negate = False
    for match in _terms(text):
        word = match["bare"] if not (match["field"] or match["not"]) else None
        if word == "OR":
            alternatives.append([])
        elif word == "NOT":
            negate = not negate
        elif word != "AND":
            test = _test_of(match, notes)
            alternatives[-1].append(_negated(test) if negate ^ bool(match["not"]) else test)
            negate = False
    if negate or (len(alternatives) > 1 and not all(alternatives)):
        raise QueryError("NOT and OR need a term on their right, OR also one on its left")
    return Query(tuple(tuple(tests) for tests in alternatives), tuple(notes))


def _terms(text: str) -> Iterable[re.Match[str]]:
    place = _end(_SPACE, text, 0)
    while place < len(text):
        match = _TERM.match(text, place)
        if match is None:
            raise QueryError(f"cannot read the query at character {place + 1}; close the quote or give a value")
        yield match
        place = _end(_SPACE, text, match.end())


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    match = pattern.match(text, place)
    return match.end() if match else place


def _test_of(match: re.Match[str], notes: list[str]) -> Test:
    quoted, name = match["quoted"], match["field"]
    if quoted is None and not name and _fields_of(match["bare"].removesuffix(":")) and match["bare"].endswith(":"):
        raise QueryError(f"{match['bare']!r} has no value; write one after it, or put the word in quotes")
    value = (match["bare"] if quoted is None else quoted).lower()
    fields = _fields_of(name) if name else ()
    if fields:
        return _field_test(fields, value, wild=quoted is None)
    if name:
        notes.append(f"no event field is called {name!r}, so the term was read as text; {nearest(name, ALIASES)}")
        value = f"{name.lower()}:{value}"
    return _word_test(value, wild=quoted is None)


def _fields_of(name: str) -> tuple[str, ...]:
    known = "." in name or name in OWN_FIELDS
    return ALIASES.get(name.lower()) or ((name,) if known else ())


def _negated(test: Test) -> Test:
    return lambda row: not test(row)


def _word_test(value: str, *, wild: bool) -> Test:
    if wild and not value.strip("*"):
        return lambda _: True
    if wild and "*" in value:
        parts = value.split("*")
        return lambda row: any(_occur(parts, line) for line in haystack(row).split("\n"))
    return lambda row: value in haystack(row)


def _field_test(fields: tuple[str, ...], value: str, *, wild: bool) -> Test:
    parts = value.split("*") if wild and "*" in value else None

    def holds(field: str, found: object) -> bool:
        if isinstance(found, list):
            return any(holds(field, item) for item in found)
        text = str(found).lower()
        if field in _CONTAINS:
            return _occur(parts, text) if parts else value in text
        return glob(parts, text) if parts else value == text

    def test(row: Row) -> bool:
        for field in fields:  # noqa: SIM110 - a generator for each row takes twice the time
            if field in row and holds(field, row[field]):
                return True
        return False

    return test


def glob(parts: list[str], text: str) -> bool:
    """Tell whether a text is the parts in order with anything between them, in time linear in the text."""
    first, last = parts[0], parts[-1]
    if not (text.startswith(first) and text.endswith(last) and len(text) >= len(first) + len(last)):
        return False
    return _occur(parts[1:-1], text[len(first) : len(text) - len(last)])


def _occur(parts: list[str], text: str) -> bool:
    place = 0
    for part in parts:
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return True
