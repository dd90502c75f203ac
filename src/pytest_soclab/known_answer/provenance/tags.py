"""Own analysis or lookup: which kind of evidence credited each item of a key score. Reported, never gated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_soclab.base.errors import quote
from pytest_soclab.known_answer.basis.files import read_json, refuse, shown, text_field
from pytest_soclab.known_answer.basis.keys import technique_of
from pytest_soclab.known_answer.basis.run import Credit, ItemRow, Provenance
from pytest_soclab.known_answer.basis.verdicts import CREDITED
from pytest_soclab.known_answer.markdown.inline import without_comments
from pytest_soclab.known_answer.markdown.tables import CELL
from pytest_soclab.known_answer.provenance.kinds import BUILTIN_TOOLS, is_lookup
from pytest_soclab.known_answer.provenance.report_text import ReportText, evidence_ids, fragments, read_report

OWN, BOTH, LOOKUP = "own analysis", "own analysis + lookup", "lookup only"
UNDECLARED, NONE, MIXED = "undeclared", "no cited entry", "mixed"
TAGS = (OWN, BOTH, LOOKUP, UNDECLARED, NONE)
BY_ANALYSIS = frozenset({OWN, BOTH})
ARTEFACTS = ("evidence.json", "report.md", "mitre.json")

Declared = Callable[[str, str], str | None]
"""Gives the kind that server and tool declare, None where they declare none."""


def builtin_kind(server: str, tool: str) -> str | None:
    """Return the kind that a built-in server declares for a tool."""
    return BUILTIN_TOOLS.get(server, {}).get(tool)


@dataclass(frozen=True, slots=True)
class Artefacts:
    """The stored run beside a score: class by ledger id (entries that answered), report, ids by technique."""

    ledger: Mapping[str, str]
    report: ReportText | None
    techniques: Mapping[str, Sequence[str]]


def read_provenance(score: str, items: Mapping[str, ItemRow], declared: Declared = builtin_kind) -> Provenance | None:
    """Return which evidence credited the items of the score file `score`; None where no artefact lies beside it.

    Raises KnownAnswerError where an artefact is there but cannot be read.
    """
    beside = Path(score).parent
    read = tuple(name for name in ARTEFACTS if (beside / name).exists())
    if not read:
        return None
    paths = {name: str(beside / name) for name in read}
    artefacts = Artefacts(
        read_ledger(paths["evidence.json"], declared) if "evidence.json" in paths else {},
        read_report(paths["report.md"]) if "report.md" in paths else None,
        read_techniques(paths["mitre.json"]) if "mitre.json" in paths else {},
    )
    entries = {key: _credits(key, item, artefacts) for key, item in items.items() if item.verdict in CREDITED}
    tags = {key: tag(entry.kind for entry in found) for key, found in entries.items()}
    absent = tuple(name for name in ARTEFACTS if name not in read)
    return Provenance(read, absent, tags, entries)


def _credits(key: str, item: ItemRow, artefacts: Artefacts) -> tuple[Credit, ...]:
    row = CELL.join(map(without_comments, item.row.split(CELL)))
    ids = evidence_ids(row.replace(CELL, " "))
    if artefacts.report:
        for fragment in fragments(row):
            ids += artefacts.report.cited(fragment)
    technique = technique_of(key)
    if technique:
        ids += artefacts.techniques.get(technique, ())
    ledger = artefacts.ledger
    return tuple(Credit(entry, ledger[entry]) for entry in dict.fromkeys(ids) if entry in ledger)


def tag(kinds: Iterable[str]) -> str:
    """Return the tag of an item whose crediting entries have these classes."""
    found = set(kinds)
    if "analysis" in found:
        return BOTH if "lookup" in found else OWN
    if "undeclared" in found:
        return UNDECLARED
    return LOOKUP if found else NONE


def read_ledger(path: str, declared: Declared) -> dict[str, str]:
    """Return the class of every entry of evidence.json that answered, by id. Raises KnownAnswerError."""
    ledger: dict[str, str] = {}
    seen: set[str] = set()
    for index, entry in enumerate(_objects(path, "entries")):
        place = f"[{index}]"
        name = text_field(entry.get("id"), path, f"{place}.id")
        if name in seen:
            refuse(f"the entry {quote(name)} twice", path, field=place, expected="every id once")
        seen.add(name)
        answered = _flag(entry, "ok", path, place)
        if answered:
            ledger[name] = _class(entry, declared, path, place)
    return ledger


def _class(entry: Mapping[str, Any], declared: Declared, path: str, place: str) -> str:
    kind = _word(entry, "kind", path, place)
    if not kind:
        kind = declared(_word(entry, "server", path, place), _word(entry, "tool", path, place)) or ""
    if not kind:
        return "undeclared"
    return "lookup" if is_lookup(kind) else "analysis"


def _word(entry: Mapping[str, Any], name: str, path: str, place: str) -> str:
    value = entry.get(name)
    if value is not None and not isinstance(value, str):
        refuse(shown(value), path, field=f"{place}.{name}", expected="a text")
    return (value or "").strip()


def _flag(entry: Mapping[str, Any], name: str, path: str, place: str) -> bool:
    value = entry.get(name, True)
    if not isinstance(value, bool):
        refuse(shown(value), path, field=f"{place}.{name}", expected="true or false")
    return value


def read_techniques(path: str) -> dict[str, list[str]]:
    """Return the evidence ids of every published technique of mitre.json, by id. Raises KnownAnswerError."""
    techniques: dict[str, list[str]] = {}
    for index, entry in enumerate(_objects(path, "techniques")):
        place = f"[{index}]"
        name = text_field(entry.get("id"), path, f"{place}.id").upper()
        evidence = entry.get("evidence") or []
        if not isinstance(evidence, list) or not all(isinstance(cited, str) for cited in evidence):
            refuse(shown(evidence), path, field=f"{place}.evidence", expected="a list of evidence ids")
        if _flag(entry, "published", path, place):
            techniques.setdefault(name, []).extend(cited.strip() for cited in evidence)
    return techniques


def _objects(path: str, name: str) -> list[dict[str, Any]]:
    data = read_json(path)
    if isinstance(data, dict):
        data = data.get(name)
    if not isinstance(data, list):
        refuse(shown(data), path, field=name, expected=f'a list of objects, or {{"{name}": [...]}}')
    for index, entry in enumerate(data):
        if not isinstance(entry, dict):
            refuse(shown(entry), path, field=f"[{index}]", expected="an object")
    return data


def counts(tags: Iterable[str]) -> dict[str, int]:
    """Return how many items have each tag, every tag named."""
    found = Counter(tags)
    return {name: found[name] for name in (*TAGS, MIXED) if name != MIXED or found[name]}


def arm_tag(tags: Sequence[str], m: int) -> str:
    """Return the tag of an item in an arm from the tags of the runs that reach its verdict there.

    It is the one tag that m of them share; else `own analysis + lookup` where m of them found it by analysis and some
    beside a lookup; else `mixed`. Several tags that m runs share (m can be 1) share none.
    """
    shared = [name for name, count in Counter(tags).items() if count >= m]
    if len(shared) == 1:
        return shared[0]
    if BOTH in tags and sum(name in BY_ANALYSIS for name in tags) >= m:
        return BOTH
    return MIXED
