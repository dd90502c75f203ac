"""A scored run: the one shape that every source is read into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_soclab.known_answer.basis.verdicts import Verdict


@dataclass(slots=True)
class ItemRow:
    """One item of a scored run: its verdict, its line and its row, the cells of a Markdown row joined by NUL."""

    verdict: Verdict | None
    line: int
    row: str = ""


@dataclass(frozen=True, slots=True)
class Credit:
    """One ledger entry that credited an item, and its class: `analysis`, `lookup` or `undeclared`."""

    id: str
    kind: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """Which evidence credited the items of one run: artefacts read and absent, tag and entries by item key."""

    read: tuple[str, ...]
    absent: tuple[str, ...]
    tags: Mapping[str, str]
    entries: Mapping[str, tuple[Credit, ...]]


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """One scored run: verdicts by item key (None for `unknown`), its beyond-human count, what backs them.

    `places` says where each item stands (`score.md:12`), `digest` tells copies of one file.
    """

    name: str
    source: str
    verdicts: Mapping[str, Verdict | None]
    beyond: int | None = None
    totals_checked: bool = False
    kind: str = "key score"
    provenance: Provenance | None = None
    notes: tuple[str, ...] = field(default=())
    places: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""
