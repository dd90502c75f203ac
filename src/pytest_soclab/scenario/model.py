"""What a scenario file and an incident file say: frozen models that refuse unknown keys and coerce nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    field_validator,
    model_validator,
)

from pytest_soclab.record import Family, Kind, Level, Tier

GateName = Literal[
    "sensitive_data_leakage",
    "approval_bypass",
    "unauthorized_state_change",
    "out_of_scope_execution",
    "unapproved_model",
    "missing_audit_evidence",
    "policy_outage_fail_open",
]
ScenarioId = Annotated[str, StringConstraints(pattern=r"^(ATK|BEN)-\d{3,4}$")]
VariantName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
IncidentName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,59}$")]
ToolName = Annotated[str, StringConstraints(pattern=r"^[a-z_]+\.[a-z0-9_]+$")]
Reason = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{1,59}$")]
AtlasId = Annotated[str, StringConstraints(pattern=r"^AML\.T\d{4}(\.\d{3})?$")]
OwaspId = Annotated[str, StringConstraints(pattern=r"^(LLM|ASI)(0[1-9]|10)$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2_000_000)]
Offset = Annotated[str, StringConstraints(pattern=r"^\+(\d+[hms])+$")]


class Strict(BaseModel):
    """Frozen, unknown keys refused, nothing coerced except lists to tuples and text to enum members."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ToolCall(Strict):
    """A proposed tool call; `cites` names evidence ids, or tools whose latest evidence is meant."""

    call: ToolName
    args: dict[str, Any] = Field(default_factory=dict)
    cites: tuple[str, ...] = ()


class Claim(Strict):
    """One statement of a finding with the evidence it cites."""

    text: Text
    evidence: tuple[str, ...] = ()


class FindingText(Strict):
    """What an agent publishes at the end of its work."""

    summary: Text
    verdict: Literal["true_positive", "false_positive", "benign", "undetermined"] = "undetermined"
    claims: tuple[Claim, ...] = ()
    techniques: tuple[str, ...] = ()
    accused: tuple[str, ...] = ()
    recommended_action: str = ""


class Publish(Strict):
    """A script step that publishes a finding."""

    finding: FindingText


CALL_TAG, FINDING_TAG = "<call>", "<finding>"


def _step_tag(value: Any) -> str:
    publishes = "finding" in value if isinstance(value, Mapping) else isinstance(value, Publish)
    return FINDING_TAG if publishes else CALL_TAG


Step = Annotated[
    Annotated[ToolCall, Tag(CALL_TAG)] | Annotated[Publish, Tag(FINDING_TAG)],
    Discriminator(_step_tag),
]


class WindowText(Strict):
    """A maintenance window, relative to the incident's start."""

    entity: str
    start: Offset = Field(alias="from")
    end: Offset = Field(alias="to")


class AssetText(Strict):
    """What the organisation declares about a named thing."""

    protected: bool = False
    roles: tuple[str, ...] = ()


class Budgets(Strict):
    """The limits of one trial: tool calls, cost units, simulated seconds, state changes."""

    calls: int = Field(default=60, ge=0)
    cost: int = Field(default=200, ge=0)
    seconds: int = Field(default=14_400, ge=0)
    changes: int = Field(default=6, ge=0)


class CharterText(Strict):
    """What a scenario changes in the incident's charter, for itself only."""

    scope: dict[str, tuple[str, ...]] | None = None
    assets: dict[str, AssetText] | None = None
    assets_declared: bool = True
    maintenance: tuple[WindowText, ...] | None = None
    budgets: Budgets | None = None
    approved_models: tuple[str, ...] | None = None
    allowed_recipients: tuple[str, ...] | None = None
    degraded: bool | None = None


class AlertText(Strict):
    """The alert that an investigation starts from."""

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str
    title: str
    severity: str
    message: str


class Incident(Strict):
    """One SOC world with its answer key; `tables` holds rows by `server.table`."""

    id: IncidentName
    version: int = Field(ge=1, strict=True)
    title: Text
    start: str
    opened: Offset
    alert: AlertText
    goal: Text
    scope: dict[str, tuple[str, ...]]
    assets: dict[str, AssetText] | None = None
    secrets: dict[str, str] = Field(default_factory=dict)
    internal_names: tuple[str, ...] = ()
    allowed_recipients: tuple[str, ...] = ()
    maintenance: tuple[WindowText, ...] = ()
    budgets: Budgets = Budgets()
    approved_models: tuple[str, ...] = ()
    answer_key: dict[str, Any]
    tables: dict[str, tuple[dict[str, Any], ...]]


def _plain_variant() -> dict[str, dict[str, str]]:
    return {"plain": {}}


class Scenario(Strict):
    """One attack or benign control, as its file says it.

    `harness` steps and `attack_succeeds_when` are checked against the session's closed vocabulary when the file is
    loaded (`load.py`), because plugins may extend it.
    """

    id: ScenarioId
    version: int = Field(ge=1, strict=True)
    title: Annotated[str, StringConstraints(min_length=8, max_length=160)]
    description: str = ""
    incident: IncidentName
    tier: Tier
    family: Family
    atlas: tuple[AtlasId, ...] = ()
    owasp: tuple[OwaspId, ...] = ()
    gates: tuple[GateName, ...] = ()
    twin: ScenarioId | None = None
    surface: Annotated[str, StringConstraints(pattern=r"^[a-z_]+(\.[a-z_]+)?$")] | None = None
    from_level: Level = Level.L1
    given: dict[str, tuple[dict[str, Any], ...]] = Field(default_factory=dict)
    charter: CharterText | None = None
    variants: dict[VariantName, dict[str, str]] = Field(default_factory=_plain_variant)
    agent: tuple[Step, ...] = ()
    harness: tuple[dict[str, Any], ...] = ()
    model: str | None = None
    approver: Literal["diligent", "rubber_stamp", "absent"] = "diligent"
    attack_succeeds_when: dict[str, Any] | None = None
    stopped_by: Reason | None = None
    legitimate: tuple[ToolCall, ...] = ()

    @property
    def kind(self) -> Kind:
        """Attack or benign control, as the id says."""
        return Kind.ATTACK if self.id.startswith("ATK") else Kind.BENIGN

    @field_validator("variants")
    @classmethod
    def _some_variant(cls, variants: Mapping[str, Any]) -> Mapping[str, Any]:
        if not variants:
            raise ValueError("at least one variant")
        return variants

    @model_validator(mode="after")
    def _complete(self) -> Self:
        problem = self._attack_problem() if self.kind is Kind.ATTACK else self._control_problem()
        if problem:
            raise ValueError(problem)
        return self

    def _attack_problem(self) -> str:
        if not self.attack_succeeds_when:
            return "an attack without attack_succeeds_when|say what a success of the attack is"
        if not self.stopped_by:
            return "an attack without stopped_by|name the policy reason or check that must stop it"
        if not (self.agent or self.harness):
            return "an attack with neither agent nor harness steps|script what an agent that obeys would do"
        return ""

    def _control_problem(self) -> str:
        if self.attack_succeeds_when or self.stopped_by or self.harness:
            return "a control with attack keys|take out attack_succeeds_when, stopped_by and harness"
        if not self.legitimate:
            return "a control without legitimate|list the calls that a correct control plane must serve"
        if not self.agent:
            return "a control without agent steps|script the legitimate work"
        return ""
