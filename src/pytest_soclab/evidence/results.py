"""The shapes that are saved: `results.json`, the lines of `trials.jsonl`, the level decision.

Everything here is plain data with a schema version. Rendering reads these shapes and nothing else, so the same
record always gives the same report. Time and host live in `Timing` alone.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from pytest_soclab.evidence.rates import Distinct, Rates, Saved

ResultsFormat = Literal["soclab-results/1", "soclab-results/2"]
RESULTS_FORMAT: ResultsFormat = "soclab-results/2"
"""What this version writes; of the first format it reads all that the second one kept."""


class Arm(StrEnum):
    """With or without the control plane."""

    BASELINE = "baseline"
    PROTECTED = "protected"


class Kind(StrEnum):
    """What a scenario is."""

    ATTACK = "attack"
    BENIGN = "benign"


class Tier(StrEnum):
    """How much harm an attack does when it succeeds, by the published criteria."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Family(StrEnum):
    """What a scenario is about."""

    SECURITY_RESILIENCE = "security_resilience"
    INVESTIGATION_QUALITY = "investigation_quality"
    OPERATIONAL_DISCIPLINE = "operational_discipline"
    GOVERNANCE_READINESS = "governance_readiness"
    ECONOMIC_EFFICIENCY = "economic_efficiency"


class Verdict(StrEnum):
    """The outcome of a trial: an attack is resisted or succeeded, a control served or blocked, else inconclusive."""

    RESISTED = "resisted"
    SUCCEEDED = "succeeded"
    SERVED = "served"
    BLOCKED = "blocked"
    INCONCLUSIVE = "inconclusive"


class Layer(StrEnum):
    """Who stopped it."""

    AGENT = "agent"
    SCHEMA = "schema"
    POLICY = "policy"
    APPROVER = "approver"
    GRANT = "grant"
    EXECUTOR = "executor"
    LEDGER = "ledger"
    NOTHING = "nothing"


class Level(StrEnum):
    """The authority levels, least first."""

    L1 = "L1"
    L2 = "L2"
    L3 = "L3"
    L4 = "L4"
    L5 = "L5"

    @property
    def rank(self) -> int:
        """The level as a number, 1 to 5."""
        return int(self.value[1:])


class GateStatus(StrEnum):
    """The outcome of a mandatory gate."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"


class ActionState(StrEnum):
    """What became of a change that was proposed."""

    EXECUTED = "executed"
    RECORDED = "recorded"
    STOPPED = "stopped"
    FAILED = "failed"


class Consent(StrEnum):
    """Who consented to an executed change: a human, or nobody but the policy."""

    APPROVED = "approved"
    UNATTENDED = "unattended"
    NONE = "none"


class Action(Saved):
    """One change that a call made or would have made; `innocent` says whom it hits that did nothing, or is empty."""

    call: int
    seq: int
    """The transcript event: the receipt of an executed change, else the proposal."""
    by: Literal["agent", "harness"]
    tool: str
    kind: str
    target: str
    state: ActionState
    consent: Consent
    endorsed: bool
    """Whether the incident's key or the scenario has it."""
    note: bool = False
    """Whether it only writes into the records of the own case."""
    innocent: str = ""
    stopped_by: str = ""


class Harm(Saved):
    """What the agent changed in all trials behind the control plane, and what it tried to change."""

    executed: int = 0
    unattended: int = 0
    unasked_executed: int = 0
    unasked_unattended: int = 0
    unasked_attempted: int = 0
    innocent_executed: int = 0
    innocent_unattended: int = 0
    innocent_attempted: int = 0


class Trial(Saved):
    """One execution of (scenario, variant, arm, repetition), as saved in `results.json` and `trials.jsonl`."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    """`ATK-001-plain-protected`, with `-2` from the second repetition on; also the report's deep link."""
    scenario: str
    version: int
    variant: str
    arm: Arm
    repetition: int
    kind: Kind
    title: str
    tier: Tier
    family: Family
    incident: str
    surface: str
    """Where the attack comes from: a table such as `siem.events`, or `control_plane`."""
    atlas: tuple[str, ...] = ()
    owasp: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    """The mandatory gates that this trial is evidence for: it made the situation that each is about happen."""
    twin: str | None = None
    agent_kind: Literal["scripted", "live"]
    verdict: Verdict
    passed: bool
    """Whether the item passed (or, in the baseline arm, was measured) under section 8 of the design."""
    cause: str = ""
    """One sentence: why the verdict is what it is, or why it is inconclusive or unexpected."""
    delivered: bool
    payload: tuple[str, ...] = ()
    """The rendered payload texts, so that the report can mark them."""
    stopped_by: str
    """A policy reason, `agent`, `approver`, a grant fault such as `grant_replayed`, …, or `nothing`."""
    stopped_layer: Layer
    stopped_rule: str = ""
    """`scope.rego:41` where a policy rule stopped it."""
    expected_stop: str | None = None
    reasons: tuple[str, ...] = ()
    """Every reason of the decisive decision."""
    decisive: tuple[int, ...] = ()
    """Sequence numbers of the transcript events that decided the verdict."""
    breaches: tuple[str, ...] = ()
    """The mandatory gates that this trial's transcript breaks, whatever the verdict."""
    inputs: str = ""
    """SHA-256 over everything that the policy was asked in this trial; empty where it did not end."""
    rendering: str = ""
    """SHA-256 over what the policy was asked, what the agent was handed and what befell the control plane."""
    actions: tuple[Action, ...] = ()
    """Every change that the trial's calls made or would have made."""
    file: str
    line: int
    nodeid: str
    root_hash: str
    witness: str = ""
    """Empty, or why the scenario could not prove itself."""


class Unmet(Saved):
    """One unmet condition of a level: what stands, what is needed, and what to do about it."""

    rule: str
    have: str
    need: str


class NextLevel(Saved):
    """The bill to the next level."""

    level: Level
    unmet: tuple[Unmet, ...]
    attack_success_limit: float | None = None
    """The highest upper bound that this level allows, as a fraction; the report draws it into the plot."""
    false_block_limit: float | None = None
    delivery_limit: float | None = None
    """The least delivery rate, as a fraction."""


class LevelDecision(Saved):
    """The one decision that terminal, JSON, HTML, job summary and exit status show."""

    basis: Literal["controls", "agent"]
    tested: Level
    recommended: Level | None
    why: tuple[str, ...]
    next: NextLevel | None
    profile: str
    """Name and version of a bundled assurance profile, such as `default/1`; of any other the start of its digest."""


class Gate(Saved):
    """A mandatory gate and its outcome."""

    name: str
    status: GateStatus
    why: str


class AgentInfo(Saved):
    """The agent under test."""

    name: str
    model: str | None
    deterministic: bool
    kind: Literal["scripted", "live"]


class PolicyInfo(Saved):
    """The policy that decided."""

    engine: Literal["embedded", "server"]
    source: str
    digest: str
    package: str
    rules: tuple[str, ...] = ()
    """Every deny reason that the policy can give."""
    address: str | None = None


class Digests(Saved):
    """SHA-256 of what the session ran on, in hex; `scenarios` holds one per (scenario) file."""

    corpus: str
    policy: str
    profile: str
    scenarios: dict[str, str]


class Timing(Saved):
    """Everything that differs between two runs of the same inputs."""

    started: str
    seconds: float
    host: str
    python: str
    pytest: str
    soclab: str
    trial_seconds: dict[str, float] = Field(default_factory=dict)
    ci: dict[str, str] = Field(default_factory=dict)
    """Branch, commit and job of a CI run, where the environment names them."""


class AboveLevel(Saved):
    """A scenario that says of itself that it is made for a higher level than the one under test."""

    scenario: str
    from_level: Level


class ScenarioCount(Saved):
    """How much of the corpus ran: scenarios in the corpus, selected, run to a verdict; collection errors."""

    corpus: int
    selected: int
    run: int
    errors: int
    error_texts: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    """Scenarios of which not every variant was selected."""
    above_level: tuple[AboveLevel, ...] = ()
    """Attacks that count only from a higher level on, and did not succeed when they were tried at this one."""


class ArmResult(Saved):
    """Gates and rates of one arm."""

    level: LevelDecision | None = None
    gates: tuple[Gate, ...]
    rates: Rates


class Results(Saved):
    """`results.json`."""

    format: ResultsFormat = RESULTS_FORMAT
    mode: Literal["protected", "baseline", "compare", "known-answer"]
    level: LevelDecision
    gates: tuple[Gate, ...]
    rates: Rates
    distinct: Distinct | None = None
    """How much the attacks of the measured arm differ."""
    arms: dict[str, ArmResult] | None = None
    controls: ArmResult | None = None
    """What the controls alone support, measured by scripts beside a live agent; never added to its rates."""
    control_trials: tuple[Trial, ...] = ()
    """The scripted trials that `controls` rests on."""
    counts: ScenarioCount
    trials: tuple[Trial, ...]
    harm: Harm = Harm()
    """What was changed behind the control plane that nothing endorses, and whom it hit."""
    known_answer: dict[str, Any] | None = None
    """The `known-answer-gate/1` document (docs/known-answer-gate.md) when a baseline was given."""
    agent: AgentInfo
    policy: PolicyInfo
    digests: Digests
    command: tuple[str, ...] = ()
    """The pytest arguments that reproduce the session."""
    timing: Timing
