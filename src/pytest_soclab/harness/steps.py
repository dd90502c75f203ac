"""The harness steps by the name that a scenario's `harness:` lists."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_soclab.harness.bench import Step
from pytest_soclab.harness.engine_steps import (
    ApproverFatigue,
    MalformedDecision,
    PolicyOutage,
    RogueTool,
    SlowPolicy,
    SubstituteModel,
)
from pytest_soclab.harness.grant_steps import (
    CrossTrialGrant,
    ExpireGrant,
    ForgeGrant,
    ReplayGrant,
    SpendApproval,
    SwapAfterGrant,
)
from pytest_soclab.harness.tampering import TamperTranscript

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
