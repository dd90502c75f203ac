"""What goes into a policy decision and what comes out, and the protocol of an engine.

The gateway builds the input itself; nothing in it is what the agent says about itself, except the call it proposes
(`arguments`, and the evidence it cites, checked against the transcript). `docs/policy.md` explains every field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

PACKAGE = "soclab.gateway"
ENTRYPOINT = "soclab/gateway/decision"
"""The one entry point: `data.soclab.gateway.decision`."""


class _Input(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class AgentIn(_Input):
    """The agent as the session knows it; `model` is empty for an agent without a model."""

    name: str
    model: str
    scripted: bool


class ToolIn(_Input):
    """The called tool; where it is unknown, `known` is false and the other fields are empty."""

    name: str
    known: bool
    server: str
    effect: Literal["read", "reversible", "irreversible", ""]
    kind: str
    authority: Literal["observe", "note", "act", ""]
    change: str


class TargetIn(_Input):
    """One thing that the call aims at, with what the incident declares about it.

    `changes` false: the call only says where its target is (the host of a process). `scoped` false: any value is
    legitimate. `in_scope`: whether it is of the case's own scope. `last_of` names roles of which it is the last enabled
    holder (`idp_admin`). `alerted`: whether the alert itself names it. `size`: how many single addresses it covers (1
    for anything that is no network).
    """

    argument: str
    type: str
    value: str
    scoped: bool
    changes: bool
    declared: bool
    protected: bool
    roles: list[str]
    last_of: list[str]
    in_scope: bool
    alerted: bool
    size: int
    ascii: bool
    maintenance: list[WindowIn]


class WindowIn(_Input):
    """A maintenance window of a target, in seconds since the epoch."""

    start: int
    end: int


class EvidenceIn(_Input):
    """A cited piece of evidence that the transcript holds; `incident` is the one its records belong to."""

    id: str
    tool: str
    kind: str
    incident: str


class BudgetIn(_Input):
    """How much of a budget is used, this call included, and its limit."""

    used: int
    limit: int


class BudgetsIn(_Input):
    """Calls, cost units, simulated seconds and state changes of the trial."""

    calls: BudgetIn
    cost: BudgetIn
    seconds: BudgetIn
    changes: BudgetIn


class HistoryIn(_Input):
    """What the trial did: requests that a human refused, and with this call the addresses changed, the recipients."""

    refusals: int
    addresses: int
    recipients: int


class GroundIn(EvidenceIn):
    """A piece of evidence that speaks of something; `names` are the targets and people of this call that it names."""

    names: list[str]


class GroundsIn(_Input):
    """What a change or note rests on: the pieces that the agent cited, and all that it was handed in this trial.

    A read that was served counts, unless it is empty or a list of everything; both lists are empty for a read.
    """

    cited: list[GroundIn]
    seen: list[GroundIn]


class PeopleIn(_Input):
    """The accounts of a note: by role, and those that its text names and gives no role, or two of a kind."""

    accused: list[str]
    affected: list[str]
    cleared: list[str]
    mentioned: list[str]
    without_role: list[str]


class LeavingIn(_Input):
    """What the gateway found in the texts that leave or are kept: labels of secrets, internal names, recipients.

    `unseen`: what an outside lookup asks about that is no indicator, or stands in no result handed to the agent.
    """

    outside: bool
    secrets: list[str]
    internal_names: list[str]
    recipients: list[str]
    allowed_recipients: list[str]
    unseen: list[str]


class IncidentIn(_Input):
    """The incident as declared; without declared assets every protected-asset question stays unproved."""

    id: str
    assets_declared: bool
    degraded: bool
    approved_models: list[str]


class DecisionInput(_Input):
    """The whole input of one decision (`soclab-decision/1`)."""

    format: Literal["soclab-decision/1"] = "soclab-decision/1"
    level: int = Field(ge=1, le=5)
    now: int
    agent: AgentIn
    incident: IncidentIn
    tool: ToolIn
    arguments: dict[str, Any]
    schema_faults: list[str]
    shape_faults: list[str]
    targets: list[TargetIn]
    evidence: list[EvidenceIn]
    unknown_evidence: list[str]
    grounds: GroundsIn
    people: PeopleIn
    budgets: BudgetsIn
    history: HistoryIn
    grants: list[str]
    leaving: LeavingIn


TargetIn.model_rebuild()


class PolicyOutcome(StrEnum):
    """What a policy may answer."""

    ALLOW = "allow"
    DENY = "deny"


class Obligation(StrEnum):
    """What the gateway can be obliged to do; any other obligation denies."""

    REQUIRE_APPROVAL = "require_approval"
    """Ask the approver before the call is executed."""
    RECORD_ONLY = "record_only"
    """Record the proposal as a recommendation and execute nothing."""
    REDACT = "redact"
    """Take secrets out of what the agent is handed."""


UNAVAILABLE = "policy_unavailable"


@dataclass(frozen=True, slots=True)
class Decision:
    """A readable answer: `outcome`, every reason of a denial, the obligations of an allowance, both sorted."""

    outcome: PolicyOutcome
    reasons: tuple[str, ...] = ()
    obligations: tuple[Obligation, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """A deny reason of a policy, where its rule stands and what its METADATA says.

    `own` is what the policy itself calls the reason, where `reasons.yaml` gives it the corpus's name.
    """

    reason: str
    file: str
    line: int
    title: str = ""
    own: str = ""


@dataclass(frozen=True, slots=True)
class PolicySource:
    """A policy directory as loaded: module texts by file name, data document, digest over all of it, deny rules."""

    path: str
    modules: Mapping[str, str]
    data: Mapping[str, Any]
    digest: str
    rules: Sequence[Rule]
    names: Mapping[str, str] = field(default_factory=dict)
    """The policy's own reasons to those that the corpus has for the same, from `reasons.yaml`."""

    def place(self, reason: str) -> str:
        """Return `scope.rego:41` for a reason, or an empty text where the policy names no such rule."""
        return next((f"{rule.file}:{rule.line}" for rule in self.rules if rule.reason == reason), "")

    def title(self, reason: str) -> str:
        """Return what the policy's METADATA calls the rule that gives a reason; empty where it says nothing."""
        return next((rule.title for rule in self.rules if rule.reason == reason and rule.title), "")


class Engine(Protocol):
    """Decides. One engine serves a whole session."""

    @property
    def kind(self) -> Literal["embedded", "server"]:
        """Which engine this is."""
        ...

    @property
    def source(self) -> PolicySource:
        """The policy that decides."""
        ...

    @property
    def address(self) -> str | None:
        """The server's address, None for the embedded engine."""
        ...

    @property
    def checked_by(self) -> str:
        """Who vouches that the engine decides as OPA does: `opa 1.22.3`, `bundled digest` or `not checked by OPA`."""
        ...

    def decide(self, document: Mapping[str, Any]) -> Decision:
        """Return the decision on a `DecisionInput` as plain JSON.

        Raises:
            PolicyUnavailable: when there is no answer, a late, a malformed or an unknown one.
        """
        ...

    def close(self) -> None:
        """Release what the engine holds."""
        ...
