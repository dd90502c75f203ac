"""The shapes that are saved: `results.json`, the lines of `trials.jsonl`, the level decision.

Everything here is plain data with a schema version. Rendering reads these shapes and nothing else, so the same
record always gives the same report. Time and host live in `Timing` alone.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from pytest_soclab.evidence.grades import Casework, Grade
from pytest_soclab.evidence.reach import Reach, ReachCount, ReachFault
from pytest_soclab.evidence.repeats import AboveLevel, Adaptive
from pytest_soclab.evidence.saved import Saved
from pytest_soclab.evidence.terms import (
    ActionState,
    Arm,
    Consent,
    Course,
    Family,
    GateStatus,
    Kind,
    Layer,
    Level,
    Method,
    Standing,
    Tier,
    Verdict,
)

__all__ = [
    "RESULTS_FORMAT", "AboveLevel", "Action", "ActionCount", "ActionState", "Actions", "Adaptive", "AgentInfo", "Arm",
    "ArmResult", "Consent", "Course", "Digests", "Distinct", "Family", "Format", "Gate", "GateStatus", "Kind", "Layer",
    "Level", "LevelDecision", "Measured", "MeasuredRate", "Method", "NextLevel", "NoData", "NoDataRate",
    "PolicyInfo", "RateGroup", "Rates", "Reach", "ReachCount", "ReachFault", "Results", "Saved", "ScenarioCount",
    "Standing", "Tier", "Timing", "Trial", "Unmet", "Verdict", "Work",
]  # fmt: skip

Format = Literal["soclab-results/1", "soclab-results/2"]
RESULTS_FORMAT: Format = "soclab-results/2"
"""What this version writes; of the first format it reads all that the second one kept."""


class Measured(Saved):
    """A proportion with its 95 % interval: `k` of `n`, `low` and `high` as fractions."""

    k: int
    n: Annotated[int, Field(gt=0)]
    low: float
    high: float
    method: Method = Method.WILSON


class NoData(Saved):
    """0 of 0: nothing was measured."""

    k: Literal[0] = 0
    n: Literal[0] = 0
    no_data: Literal[True] = True


Proportion = Measured | NoData


class MeasuredRate(Measured):
    """A rate over distinct scenarios, with the same rate over single trials, clustered by scenario, beside it.

    The first format counted distinct (scenario, variant) pairs.
    """

    trials: Proportion
    open: int = 0
    """How many of the `k` are counted only because a trial of them is inconclusive: the worst that they may hide."""


class NoDataRate(NoData):
    """A rate over no scenario, with the same rate over single trials beside it."""

    trials: Proportion


Rate = MeasuredRate | NoDataRate


class RateGroup(Saved):
    """The three rates of one group of scenarios."""

    attack_success: Rate
    false_block: Rate
    delivery: Rate


class Rates(RateGroup):
    """The three rates, over all and by group."""

    by_tier: dict[str, RateGroup]
    by_family: dict[str, RateGroup]
    by_incident: dict[str, RateGroup]
    by_surface: dict[str, RateGroup]


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


class ActionCount(Saved):
    """How many changes of one class were attempted in vain, executed unattended, executed after an approval."""

    attempted: int = 0
    unattended: int = 0
    approved: int = 0

    @property
    def executed(self) -> int:
        """How many took place."""
        return self.unattended + self.approved

    @property
    def all(self) -> int:
        """How many were proposed, whatever became of them."""
        return self.executed + self.attempted


class Actions(Saved):
    """The changes that one trial proposed, by what the answer key and the scenario say of them."""

    endorsed: ActionCount = ActionCount()
    unasked: ActionCount = ActionCount()
    """Not endorsed, and on nobody who is known to be innocent."""
    innocent: ActionCount = ActionCount()
    """Not endorsed, and on somebody or something innocent, protected or outside the scope."""


class Work(Saved):
    """What a live agent's work is worth, in shares of scenarios; each counts only where every trial of it does."""

    findings_right: Proportion
    """Whole cases whose finding is right: verdict, evidence and techniques of the key, and nobody innocent accused."""
    accused_innocent: tuple[str, ...] = ()
    """Who was accused and is innocent, in any trial."""
    harm_attempted: Proportion
    """Scenarios in which harm to an innocent was tried or done; an inconclusive trial counts as one."""
    work_done: Proportion
    """Legitimate scenarios whose work was done."""
    own_resistance: Proportion
    """Attacks by a text that the agent itself declined."""
    casework: tuple[Casework, ...] = ()
    """What was found, missed, wrong and unasked: over all, then by incident."""


class Trial(Saved):
    """One execution of (scenario, variant, arm, repetition), as saved in `results.json` and `trials.jsonl`."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    """`ATK-001-plain-protected`, with `-2` from the second repetition on; also the report's deep link."""
    scenario: str
    version: int
    variant: str
    """The text variant; of a derived play the play's name."""
    play: str = "plain"
    """How the attack was played: `plain` is the script as it stands."""
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
    """Whether the trial ended as its scenario expects; in the baseline arm, whether it was measured."""
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
    granted_changes: int = 0
    """State changes that the policy let through; `uncited` is how many of them cited nothing of their target."""
    uncited: int = 0
    inputs: str = ""
    """SHA-256 over everything that the policy was asked in this trial; empty where it did not end."""
    rendering: str = ""
    """SHA-256 over what the policy was asked, what the agent was handed and what befell the control plane."""
    grade: Grade | None = None
    """The work beside the answer key; None where the trial did not end."""
    actions: Actions | None = None
    """The changes that it proposed; None where nothing counted them."""
    changes: tuple[Action, ...] = ()
    """Every change that the trial's calls made or would have made, one by one."""
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


class Distinct(Saved):
    """How much the attacks of one arm differ, counted from transcripts."""

    scenarios: int
    """Scenarios that differ in what the policy was asked or in what the agent was handed."""
    trials: int
    inputs: int
    """Distinct sequences of policy inputs."""
    stops: int
    """Distinct ways in which an attack was stopped."""


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
    """Whether it was seen to propose the same twice; an agent's own word for it is not enough."""
    kind: Literal["scripted", "live"]
    subjects: tuple[str, ...] = ()
    """The agents of the session where there were several: by name, model, class, version and prompt."""


class PolicyInfo(Saved):
    """The policy that decided."""

    engine: Literal["embedded", "server"]
    source: str
    digest: str
    package: str
    rules: tuple[str, ...] = ()
    """Every deny reason that the policy can give."""
    titles: dict[str, str] = Field(default_factory=dict)
    """What the policy's METADATA calls the rule that gives a reason."""
    address: str | None = None
    checked_by: str = ""
    """Who vouches that the engine decides as OPA does: `opa 1.22.3`, `bundled digest`, or `not checked by OPA`."""


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
    root: str = ""
    """The evidence root: the hash of the session log's last event, over all chains and inputs; empty within the log."""
    ci: dict[str, str] = Field(default_factory=dict)
    """Branch, commit and job of a CI run, where the environment names them."""
    below: str = ""
    """Where pytest's rootdir lies below the repository's root, such as `services/soc`; empty where it is the root."""


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

    format: Format = RESULTS_FORMAT
    mode: Literal["protected", "baseline", "compare", "known-answer"]
    level: LevelDecision
    gates: tuple[Gate, ...]
    rates: Rates
    work: Work | None = None
    """How a live agent's work is graded over all trials; None for scripted agents."""
    distinct: Distinct | None = None
    """How much the attacks of the measured arm differ."""
    arms: dict[str, ArmResult] | None = None
    controls: ArmResult | None = None
    """What the controls alone support, measured by scripts beside a live agent; never added to its rates."""
    control_trials: tuple[Trial, ...] = ()
    """The scripted trials that `controls` rests on."""
    counts: ScenarioCount
    trials: tuple[Trial, ...]
    actions: Actions | None = None
    """The changes of all trials behind the control plane together; None where nothing counted them."""
    reach: tuple[Reach, ...] = ()
    """What becomes of every single call, by incident; empty where it was not tried."""
    known_answer: dict[str, Any] | None = None
    """The `known-answer-gate/1` document (docs/known-answer-gate.md) when a baseline was given."""
    agent: AgentInfo
    policy: PolicyInfo
    digests: Digests
    adaptive: Adaptive | None = None
    """Where repeats were spent; None where all were run."""
    command: tuple[str, ...] = ()
    """The pytest arguments that reproduce the session."""
    timing: Timing
