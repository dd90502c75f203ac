"""The closed sets of words that saved shapes use."""

from __future__ import annotations

from enum import StrEnum


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
    """The outcome of a trial: attacks are resisted or succeeded, controls served, blocked or not attempted.

    What is known of neither is inconclusive.
    """

    RESISTED = "resisted"
    SUCCEEDED = "succeeded"
    SERVED = "served"
    BLOCKED = "blocked"
    NOT_ATTEMPTED = "not_attempted"
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


class AdaptiveRule(StrEnum):
    """What ended the trials of a variant where repeats are spent adaptively."""

    PLAN = "plan"
    """Every planned trial ran."""
    LEVEL = "level"
    """The levels still possible ask for no more."""
    SAME_AGAIN = "same_again"
    """The agent is known to do the same again."""
    INTERRUPTED = "interrupted"
    """No rule: a further trial could have changed something."""


class Method(StrEnum):
    """How a proportion got its interval."""

    WILSON = "wilson"
    CLOPPER_PEARSON = "clopper_pearson"
    KORN_GRAUBARD = "korn_graubard"


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


class Course(StrEnum):
    """What becomes of a call under a policy."""

    DENIED = "denied"
    RECORDED = "recorded"
    ASKS = "asks a human"
    UNATTENDED = "runs unattended"


class Standing(StrEnum):
    """What the answer key says of a call."""

    ENDORSED = "endorsed"
    HARMLESS = "harmless"
    HARMS = "harms an innocent"
