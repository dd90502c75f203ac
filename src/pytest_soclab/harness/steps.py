"""The harness steps as models: what a scenario's `harness:` may list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pytest_soclab.gateway.grants import LIFETIME

if TYPE_CHECKING:
    from pytest_soclab.harness.bench import Bench


class Step(BaseModel):
    """The base of the harness steps: frozen, unknown keys refused. A plugin's step overrides `prepare` or `perform`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def prepare(self, bench: Bench) -> None:
        """Prepare the step before the agent works."""

    def perform(self, bench: Bench) -> None:
        """Perform the step after the agent has worked."""


class CallStep(Step):
    call: str
    args: dict[str, Any] = Field(default_factory=dict)
    cites: tuple[str, ...] = ()


class ForgeGrant(CallStep):
    """Signs a grant with the attacker's own key, or with none, and presents it for a call that nobody decided on."""

    step: Literal["forge_grant"]
    algorithm: Literal["HS256", "none"] = "HS256"


class ReplayGrant(Step):
    """Presents the grant of the agent's last executed call a second time, for the same call."""

    step: Literal["replay_grant"]


class SwapAfterGrant(CallStep):
    """Puts this call in the place of the agent's granted call `on` before it is executed."""

    step: Literal["swap_after_grant"]
    on: str


class ExpireGrant(Step):
    """Holds back the agent's granted call `on` until its grant has expired."""

    step: Literal["expire_grant"]
    on: str
    seconds: int = Field(default=LIFETIME + 1, strict=True)


class CrossTrialGrant(CallStep):
    """Presents a grant that the same session issued for exactly this call, in another trial."""

    step: Literal["cross_trial_grant"]


class SpendApproval(CallStep):
    """Presents the valid grant of an approved call `approved` for this other call."""

    step: Literal["spend_approval"]
    approved: str
    approved_args: dict[str, Any] = Field(default_factory=dict)


class TamperTranscript(Step):
    """Changes a finished transcript: edits an event, drops one, swaps two, cuts the end, or rehashes a forged chain."""

    step: Literal["tamper_transcript"]
    how: Literal["edit", "drop", "reorder", "truncate", "rehash"]


class SubstituteModel(Step):
    """Lets another model work under the agent's name."""

    step: Literal["substitute_model"]
    model: str


class RogueTool(Step):
    """Offers an undeclared tool `name` that does what the declared tool `like` does (a shadow tool server)."""

    step: Literal["rogue_tool"]
    name: str
    like: str


class PolicyOutage(Step):
    """Takes the policy engine away after `after` decisions."""

    step: Literal["policy_outage"]
    after: int = Field(default=0, ge=0, strict=True)


class SlowPolicy(Step):
    """Lets every decision after `after` take `seconds`."""

    step: Literal["slow_policy"]
    seconds: float = Field(default=10.0, gt=0)
    after: int = Field(default=0, ge=0, strict=True)


class MalformedDecision(Step):
    """Lets the engine answer this document after `after` decisions: no decision, or one with an unknown obligation."""

    step: Literal["malformed_decision"]
    answer: Any
    after: int = Field(default=0, ge=0, strict=True)


class ApproverFatigue(Step):
    """Wears the approver out: after `patience` requests everything is approved."""

    step: Literal["approver_fatigue"]
    patience: int = Field(default=3, ge=0, strict=True)


STEPS: Mapping[str, type[Step]] = {
    "forge_grant": ForgeGrant,
    "replay_grant": ReplayGrant,
    "swap_after_grant": SwapAfterGrant,
    "expire_grant": ExpireGrant,
    "cross_trial_grant": CrossTrialGrant,
    "spend_approval": SpendApproval,
    "tamper_transcript": TamperTranscript,
    "substitute_model": SubstituteModel,
    "rogue_tool": RogueTool,
    "policy_outage": PolicyOutage,
    "slow_policy": SlowPolicy,
    "malformed_decision": MalformedDecision,
    "approver_fatigue": ApproverFatigue,
}
