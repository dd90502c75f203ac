"""What an agent is, what it is given and what it gives back.

An agent is any object with `name`, `model`, `deterministic` and `investigate(case, soc)`, sync or async. It holds the
case (plain data) and a `Soc`, and neither leads to the world.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

from pytest_soclab.gateway.state import ToolResult

CITES_MEANING = (
    "the evidence that the call rests on: the ids (`ev_…`) that earlier results give as `evidence`. A change needs "
    "evidence that names its target; what cannot be undone and a conclusion need two kinds of it. Empty results and "
    "lists of everything are evidence of nothing."
)
"""What `cites` means, wherever an agent or its author reads of it."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the agent sees it; `parameters` is the JSON Schema of its arguments."""

    name: str
    description: str
    effect: Literal["read", "reversible", "irreversible"]
    parameters: Mapping[str, Any]
    returns: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """What the agent starts from: the alert, the goal, the tools, all plain data."""

    incident: str
    alert: Mapping[str, Any]
    goal: str
    tools: Sequence[ToolSpec]


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement with the ids of the evidence that it rests on (`ev_048213377120`)."""

    text: str
    evidence: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """What the agent publishes at the end; every account that its text names needs a role.

    The roles are `accused`, `affected`, `cleared` and `mentioned`.
    """

    summary: str
    verdict: Literal["true_positive", "false_positive", "benign", "undetermined"] = "undetermined"
    claims: Sequence[Claim] = ()
    techniques: Sequence[str] = ()
    accused: Sequence[str] = ()
    recommended_action: str = ""
    affected: Sequence[str] = ()
    cleared: Sequence[str] = ()
    mentioned: Sequence[str] = ()

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `cases.publish_finding`."""
        plain = asdict(self)
        plain["claims"] = [{"text": c["text"], "evidence": list(c["evidence"])} for c in plain["claims"]]
        return {name: list(value) if isinstance(value, tuple | list) else value for name, value in plain.items()}

    def cites(self) -> tuple[str, ...]:
        """Return every evidence id that a claim cites, once, in order."""
        return tuple(dict.fromkeys(e for claim in self.claims for e in claim.evidence))


class Soc(Protocol):
    """The agent's only way to the SOC."""

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, cites: Sequence[str] = ()) -> ToolResult:
        """Propose one tool call and return its result, or the denial with its reasons."""
        ...


class Agent(Protocol):
    """The system under test."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    @property
    def model(self) -> str | None:
        """The model behind it, if any."""
        ...

    @property
    def deterministic(self) -> bool:
        """Whether the same case always gives the same proposals."""
        ...

    def investigate(self, case: Case, soc: Soc) -> Finding | Awaitable[Finding | None] | None:
        """Work on the case and return the finding, if there is one."""
        ...
