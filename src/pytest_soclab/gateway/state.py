"""The state of one trial that gateway, executor and harness share; an agent never holds it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_soclab.base.clock import TrialClock
from pytest_soclab.evidence.ledger import Event, Ledger
from pytest_soclab.soc.registry import Outcome, Registry
from pytest_soclab.soc.world import World

CALL_SECONDS = 20  # simulated seconds that one tool call takes


_NTH = re.compile(r"ev_([0-9]{4})")


def evidence_id(tool: str, data: Any) -> str:
    """Return the id of a result: from what it says, so that calls in parallel give the same ids in any order."""
    text = json.dumps([tool, data], sort_keys=True, ensure_ascii=True)
    return f"ev_{int(hashlib.sha256(text.encode()).hexdigest(), 16) % 10**_DIGITS:0{_DIGITS}d}"


_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Identity:
    """Who proposes, as the session knows it."""

    name: str
    model: str
    kind: Literal["scripted", "live"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A normalised tool call: `call` is its number in the trial, `arguments` plain JSON that nobody else holds."""

    call: int
    tool: str
    arguments: Mapping[str, Any]
    cites: tuple[str, ...]
    by: Literal["agent", "harness"] = "agent"
    faults: tuple[str, ...] = ()
    """Why the arguments have no plain JSON form; such a call is never executed."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A result that was handed to the agent and can be cited.

    `names` are the folded names of what it speaks of: none where it is empty, a list of everything, or no read.
    """

    id: str
    tool: str
    kind: str
    incident: str
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the agent is handed: `data` of a call that was served, else `error`, or `denied` with the reasons.

    `evidence` is the id to cite (`ev_048213377120`), None where the result is no evidence; `recorded` tells that the
    call was written down as a recommendation and not executed.
    """

    ok: bool
    data: Any = None
    error: str = ""
    denied: tuple[str, ...] = ()
    evidence: str | None = None
    recorded: bool = False


@dataclass(slots=True)
class TrialState:
    """World, ledger, clock, evidence and counters of one trial."""

    trial: str
    world: World
    registry: Registry
    identity: Identity
    level: int
    ledger: Ledger = field(default_factory=Ledger)
    evidence: dict[str, Evidence] = field(default_factory=dict)
    handed: list[str] = field(default_factory=list)
    """The texts of the records that the agent was handed and that were not written in this trial."""
    calls: int = 0
    cost: int = 0
    changes: int = 0
    """State changes that the policy let through, approved or not: asking a human uses the budget up too."""
    addresses: int = 0
    """Addresses that the state changes let through speak of, a network with all of its own."""
    recipients: frozenset[str] = frozenset()
    """Whom the mails let through are sent to."""
    refusals: int = 0
    """Requests that the approver refused."""
    clock: TrialClock = field(init=False)
    started: int = field(init=False)

    def __post_init__(self) -> None:
        self.clock = TrialClock(self.world.now)
        self.started = self.world.now

    def log(self, kind: str, data: Mapping[str, Any]) -> Event:
        """Append an event at the current simulated time."""
        return self.ledger.append(kind, self.clock.now, data)

    def tick(self) -> None:
        """Let one call's worth of simulated time pass, in the world as well."""
        self.world.now = self.clock.advance(CALL_SECONDS)

    def next_call(self) -> int:
        """Return the number of the next call."""
        self.calls += 1
        return self.calls

    def note_evidence(self, tool: str, kind: str | None, outcome: Outcome, names: frozenset[str]) -> str | None:
        """Give a served result an evidence id, or None where the tool yields no evidence."""
        if not outcome.ok or kind is None:
            return None
        identifier = evidence_id(tool, outcome.data)
        incident = outcome.foreign[0] if outcome.foreign else self.world.charter.incident
        self.evidence[identifier] = Evidence(identifier, tool, kind, incident, names)
        return identifier

    def resolve(self, cites: Sequence[str]) -> tuple[str, ...]:
        """Return cited ids; a tool's name stands for its latest evidence, `ev_0003` for the third of the trial.

        The latter is how a script cites what it has not seen yet; an agent is handed ids that derive from content.
        """
        return tuple(self._latest(cite) or self._nth(cite) or cite for cite in cites)

    def _nth(self, cite: str) -> str | None:
        place = _NTH.fullmatch(cite)
        number = int(place[1]) if place else 0
        return list(self.evidence)[number - 1] if 0 < number <= len(self.evidence) else None

    def _latest(self, tool: str) -> str | None:
        return next((e.id for e in reversed(self.evidence.values()) if e.tool == tool), None)
