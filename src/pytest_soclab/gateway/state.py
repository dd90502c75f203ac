"""The state of one trial that gateway, executor and harness share; an agent never holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_soclab.base.clock import TrialClock
from pytest_soclab.evidence.ledger import Event, Ledger
from pytest_soclab.soc.registry import Outcome, Registry
from pytest_soclab.soc.world import World

CALL_SECONDS = 20  # simulated seconds that one tool call takes


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

    `evidence` is the id to cite (`ev_0003`), None where the result is no evidence; `recorded` tells that the call
    was written down as a recommendation and not executed.
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
    touched: dict[str, dict[str, str]] = field(default_factory=dict)
    """Of each kind of change the targets that the policy let through, approved or not, with their types."""
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
        identifier = f"ev_{len(self.evidence) + 1:04d}"
        incident = outcome.foreign[0] if outcome.foreign else self.world.charter.incident
        self.evidence[identifier] = Evidence(identifier, tool, kind, incident, names)
        return identifier

    def resolve(self, cites: Sequence[str]) -> tuple[str, ...]:
        """Return cited ids; the name of a tool stands for that tool's latest evidence."""
        return tuple(self._latest(cite) or cite for cite in cites)

    def _latest(self, tool: str) -> str | None:
        return next((e.id for e in reversed(self.evidence.values()) if e.tool == tool), None)
