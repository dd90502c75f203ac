"""What a scenario file and an incident file say: frozen models that refuse unknown keys and coerce nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    StrictInt,
    StringConstraints,
    Tag,
    field_validator,
)

from pytest_soclab.evidence.results import Family, Kind, Level, Tier
from pytest_soclab.reading.faults import CALL_TAG, FINDING_TAG

GateName = Literal[
    "sensitive_data_leakage",
    "approval_bypass",
    "unauthorized_state_change",
    "out_of_scope_execution",
    "unapproved_model",
    "missing_audit_evidence",
    "policy_outage_fail_open",
]
_SECONDS = r"([0-9]{1,8}s)?"
_MINUTES = rf"([0-9]{{1,6}}m)?{_SECONDS}"
_OFFSET = rf"^\+([0-9]{{1,5}}h{_MINUTES}|[0-9]{{1,6}}m{_SECONDS}|[0-9]{{1,8}}s)$"
ID_PATTERN = r"^(ATK|BEN)-[0-9]{3,4}$"
ScenarioId = Annotated[str, StringConstraints(pattern=ID_PATTERN)]
VariantName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
INCIDENT_PATTERN = r"^[a-z][a-z0-9-]{0,59}$"
IncidentName = Annotated[str, StringConstraints(pattern=INCIDENT_PATTERN)]
ToolName = Annotated[str, StringConstraints(pattern=r"^[a-z_]+\.[a-z0-9_]+$")]
Reason = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{1,59}$")]
ATLAS_PATTERN, OWASP_PATTERN = r"^AML\.T[0-9]{4}(\.[0-9]{3})?$", r"^(LLM|ASI)(0[1-9]|10)$"
AtlasId = Annotated[str, StringConstraints(pattern=ATLAS_PATTERN)]
OwaspId = Annotated[str, StringConstraints(pattern=OWASP_PATTERN)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2_000_000)]
Offset = Annotated[str, StringConstraints(pattern=_OFFSET)]


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
    affected: tuple[str, ...] = ()
    cleared: tuple[str, ...] = ()
    mentioned: tuple[str, ...] = ()
    recommended_action: str = ""


class Publish(Strict):
    """A script step that publishes a finding."""

    finding: FindingText


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

    protected: StrictBool = False
    roles: tuple[str, ...] = ()


class Budgets(Strict):
    """The limits of one trial: tool calls, cost units, simulated seconds, state changes."""

    calls: StrictInt = Field(default=60, ge=0)
    cost: StrictInt = Field(default=200, ge=0)
    seconds: StrictInt = Field(default=14_400, ge=0)
    changes: StrictInt = Field(default=6, ge=0)


class CharterText(Strict):
    """What a scenario changes in the incident's charter, for itself only."""

    scope: dict[str, tuple[str, ...]] | None = None
    assets: dict[str, AssetText] | None = None
    assets_declared: StrictBool = True
    maintenance: tuple[WindowText, ...] | None = None
    budgets: Budgets | None = None
    approved_models: tuple[str, ...] | None = None
    allowed_recipients: tuple[str, ...] | None = None
    degraded: StrictBool | None = None
    level: Level | None = None
    """The authority that this case was given, where it is lower than the one under test."""


class AlertText(Strict):
    """The alert that an investigation starts from."""

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str
    title: str
    severity: str
    message: str


Technique = Annotated[str, StringConstraints(pattern=r"^(T[01][0-9]{3}|AML\.T[0-9]{4})(\.[0-9]{3})?$")]
"""A technique of ATT&CK for enterprises or for industrial control systems, or of ATLAS."""
Names = tuple[Annotated[str, StringConstraints(min_length=1, max_length=256)], ...]


class ResponseCall(Strict):
    """One call of the whole response that is right in an incident."""

    call: ToolName
    args: dict[str, Any] = Field(default_factory=dict)


class AnswerKey(Strict):
    """What is true of an incident; `answers.py` holds that it speaks of the incident's own world.

    `culprits` are the accounts or outside addresses at fault, `compromised` what they took over, `cleared` the accounts
    whose traces look bad and are innocent, `decoys` such traces, `not_guilty` what no change may touch. A key may leave
    out what nobody wrote down; what it leaves out is not judged.
    """

    verdict: Literal["true_positive", "false_positive", "benign", "undetermined"] | None = None
    culprits: Names = ()
    compromised: Names = ()
    cleared: Names = ()
    techniques: tuple[Technique, ...] = ()
    key_evidence: Names = ()
    legitimate_response: tuple[ResponseCall, ...] = ()
    decoys: Names = ()
    not_guilty: Names = ()


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
    answer_key: AnswerKey
    tables: dict[str, tuple[dict[str, Any], ...]]


def _plain_variant() -> dict[str, dict[str, str]]:
    return {"plain": {}}


class Scenario(Strict):
    """One attack or benign control, as its file says it.

    `checks.py` holds what depends on the session's closed vocabulary, which plugins may extend, and what an attack or a
    control needs.
    """

    id: ScenarioId
    version: int = Field(ge=1, strict=True)
    title: Annotated[str, StringConstraints(min_length=8, max_length=160)]
    description: str = ""
    incident: IncidentName
    goal: Annotated[str, StringConstraints(min_length=8, max_length=600)] | None = None
    """What the agent is asked to do in this scenario; else the incident's goal."""
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
    approver: Literal["diligent", "rubber_stamp", "tired", "absent"] = "diligent"
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
            raise ValueError("an empty mapping|write at least one variant, or leave the key out")
        return variants
