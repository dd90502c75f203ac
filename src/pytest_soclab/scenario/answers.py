"""Holds an incident's answer key against the incident's own world and the tools of the session.

A key that names what does not exist would grade every agent wrong, and nobody would see it: so it is refused when the
file is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pytest_soclab.base.errors import Fault, nearest, quote
from pytest_soclab.reading.yaml_source import Document, KeyPath
from pytest_soclab.scenario import techniques
from pytest_soclab.scenario.model import AnswerKey
from pytest_soclab.scenario.vocabulary import Vocabulary

FIELD = "answer_key"
FOREIGN = "incident"
"""The field by which a row says that it belongs to another incident."""
_NAMED = ("culprits", "compromised", "cleared", "not_guilty")
_RECORDS = ("key_evidence", "decoys")
_APART = (
    ("key_evidence", "decoys"),
    ("culprits", "cleared"),
    ("culprits", "not_guilty"),
    ("compromised", "cleared"),
    ("compromised", "not_guilty"),
)


@dataclass(frozen=True, slots=True)
class OwnRecords:
    """The rows of an incident that are its own: their ids, and every text that stands in them as a whole value."""

    ids: frozenset[str]
    values: frozenset[str]


def key_faults(key: AnswerKey, document: Document, vocabulary: Vocabulary) -> Iterator[Fault]:
    """Yield what an answer key says that its incident or the session's tools do not know."""
    records = own_records(document.value.get("tables"), vocabulary.keys)
    for name in _RECORDS:
        yield from _unknown(name, getattr(key, name), records.ids, "the id of a record of this incident", document)
    for name in _NAMED:
        yield from _unknown(name, getattr(key, name), records.values, "a name that a record holds", document)
    for first, second in _APART:
        yield from _both(first, second, key, document)
    yield from _technique_faults(key, document)
    yield from _response_faults(key, document, vocabulary)


def own_records(tables: object, keys: Mapping[str, str]) -> OwnRecords:
    """Return the ids and values of the rows that belong to the incident itself; what has no such shape is left out."""
    named = tables.items() if isinstance(tables, Mapping) else ()
    rows = [(str(table), row) for table, listed in named if isinstance(listed, list) for row in listed]
    own = [(table, row) for table, row in rows if isinstance(row, Mapping) and FOREIGN not in row]
    ids = frozenset(str(row.get(keys.get(table, "id"))) for table, row in own)
    return OwnRecords(ids, frozenset(text for _, row in own for text in _texts(row)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _unknown(
    name: str, given: Iterable[str], known: frozenset[str], expected: str, document: Document
) -> Iterator[Fault]:
    for index, value in enumerate(given):
        if value not in known:
            found = f"found {quote(value)}, which no record of this incident holds"
            yield document.fault((FIELD, name, index), found, expected, _close(value, known))


def _close(value: str, known: Iterable[str]) -> str:
    """Return the nearest name; the whole list would be too long to read."""
    close = get_close_matches(value, sorted(known), n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else "name it in a table, or take it out"


def _both(first: str, second: str, key: AnswerKey, document: Document) -> Iterator[Fault]:
    for index, value in enumerate(getattr(key, second)):
        if value in getattr(key, first):
            found = f"found {quote(value)}, which stands in {first} too"
            yield document.fault((FIELD, second, index), found, f"a name that is not in {first}", "take it out of one")


def _technique_faults(key: AnswerKey, document: Document) -> Iterator[Fault]:
    known = techniques.known("atlas")
    for index, name in enumerate(key.techniques):
        if name.startswith("AML.") and name not in known:
            path: KeyPath = (FIELD, "techniques", index)
            yield document.fault(path, f"found the unknown id {name!r}", f"an id of {techniques.edition('atlas')}")


def _response_faults(key: AnswerKey, document: Document, vocabulary: Vocabulary) -> Iterator[Fault]:
    for index, step in enumerate(key.legitimate_response):
        path: KeyPath = (FIELD, "legitimate_response", index)
        if step.call not in vocabulary.tools:
            found = f"found the unknown tool {quote(step.call)}"
            yield document.fault((*path, "call"), found, "", nearest(step.call, vocabulary.tools))
        for fault in vocabulary.call_faults(step.call, step.args):
            yield document.fault((*path, "args"), f"found a call that {step.call} refuses ({fault})", "", "correct it")
