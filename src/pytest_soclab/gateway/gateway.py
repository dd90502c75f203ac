"""The two points between an agent and the world: the policy gateway, and the baseline arm's, which enforces nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_soclab.base.clock import monotonic
from pytest_soclab.base.errors import PolicyUnavailable
from pytest_soclab.evidence.terms import Course
from pytest_soclab.gateway import approvals
from pytest_soclab.gateway.approvals import Answer, ApprovalRequest, Approver
from pytest_soclab.gateway.executor import Executor, Refusal
from pytest_soclab.gateway.facts import decision_input, recipients_of
from pytest_soclab.gateway.grants import GrantOffice
from pytest_soclab.gateway.grounds import names_handed_out, records_of, texts_of
from pytest_soclab.gateway.mending import mending, nearest_handed_out, titled
from pytest_soclab.gateway.normal import Request, proposal_of, request_of, said
from pytest_soclab.gateway.state import Proposal, ToolResult, TrialState
from pytest_soclab.leaks.egress import redact
from pytest_soclab.policy.model import UNAVAILABLE, Decision, Engine, Obligation, PolicyOutcome
from pytest_soclab.soc.registry import Authority, Effect, Outcome

SCHEMA_REASONS = frozenset({"unknown_tool", "argument_schema", "argument_shape"})
"""Reasons that say the call itself is malformed; the report shows them as stopped by the schema."""


class EnforcementPoint(Protocol):
    """What the trial talks to on the agent's behalf."""

    state: TrialState
    executor: Executor

    def call(self, tool: Any, arguments: Any, cites: Any = ()) -> ToolResult:
        """Read one proposed call and serve it."""
        ...

    def serve(self, request: Request) -> ToolResult:
        """Carry out or refuse one proposed call and return what the agent is handed."""
        ...


def layer_of(reasons: Sequence[str]) -> str:
    """Return who a denial's reasons stand for: `schema` where they all say so, else `policy`."""
    return "schema" if reasons and set(reasons) <= SCHEMA_REASONS else "policy"


def log_proposal(state: TrialState, proposal: Proposal) -> None:
    """Log what was proposed."""
    state.log(
        "proposal",
        {
            "call": proposal.call,
            "tool": proposal.tool,
            "arguments": proposal.arguments,
            "cites": list(proposal.cites),
            "by": proposal.by,
        },
    )


def hand_over(state: TrialState, proposal: Proposal, outcome: Outcome, clean: bool) -> ToolResult:
    """Log and return a served call's result; `clean` takes secrets out of it."""
    tool = state.registry.get(proposal.tool)
    names = names_handed_out(tool, proposal.arguments, outcome)
    evidence = state.note_evidence(proposal.tool, tool.kind if tool else None, outcome, names)
    if tool is not None and tool.effect is Effect.READ and outcome.ok:
        state.handed += texts_of(records_of(outcome, proposal.arguments))
    secrets = state.world.charter.secrets if clean else {}
    meant = "" if outcome.ok else nearest_handed_out(tool, proposal.arguments, redact(state.handed, secrets))
    error = outcome.error + (f"; {meant}" if meant else "")
    result = ToolResult(outcome.ok, redact(outcome.data, secrets), redact(error, secrets), (), evidence)
    return _log_result(state, proposal.call, proposal.tool, result)


def _log_result(state: TrialState, call: int, tool: str, result: ToolResult) -> ToolResult:
    event = state.log(
        "result",
        {
            "call": call,
            "tool": tool,
            "evidence": result.evidence,
            "ok": result.ok,
            "data": result.data,
            "error": result.error,
            "denied": list(result.denied),
            "recorded": result.recorded,
        },
    )
    return ToolResult(result.ok, event["data"]["data"], result.error, result.denied, result.evidence, result.recorded)


@dataclass(slots=True)
class OpenPoint:
    """The baseline arm: every proposal goes straight to the executor."""

    state: TrialState
    executor: Executor

    def call(self, tool: Any, arguments: Any, cites: Any = ()) -> ToolResult:
        """Read the proposed call and execute it."""
        return self.serve(request_of(tool, arguments, cites))

    def serve(self, request: Request) -> ToolResult:
        """Execute the proposed call."""
        proposal = proposal_of(self.state, request)
        log_proposal(self.state, proposal)
        done = self.executor.execute(proposal, None)
        self.state.tick()
        if isinstance(done, Refusal):
            return _log_result(self.state, proposal.call, proposal.tool, ToolResult(False, error=done.detail))
        return hand_over(self.state, proposal, done, clean=False)


Swap = Callable[[Proposal, str], Proposal]
"""Sees a granted proposal and its token, returns the proposal that is executed."""

POLICY_SECONDS = 5.0
"""An answer that takes longer is no answer."""


@dataclass(slots=True)
class Gateway:
    """The protected arm: decision, obligations, approval, grant, execution; each step an event.

    `between` is where the harness can put another proposal in a granted one's place (`swap_after_grant`).
    """

    state: TrialState
    executor: Executor
    office: GrantOffice
    engine: Engine
    approver: Approver
    between: Swap | None = field(default=None)
    timer: Callable[[], float] = monotonic

    def call(self, tool: Any, arguments: Any, cites: Any = ()) -> ToolResult:
        """Read the proposed call and serve it."""
        return self.serve(request_of(tool, arguments, cites))

    def serve(self, request: Request) -> ToolResult:
        """Decide on the proposed call and carry out what the decision allows."""
        proposal = proposal_of(self.state, request)
        log_proposal(self.state, proposal)
        result = self._carry_out(proposal)
        self.state.tick()
        return result

    def _carry_out(self, proposal: Proposal) -> ToolResult:
        document = decision_input(self.state, proposal, self.state.registry.get(proposal.tool))
        decision = self.decide(proposal, document)
        course = course_of(decision)
        if course is Course.DENIED:
            return self._denied(proposal, decision.reasons, mending(decision.reasons, document, self.state.registry))
        if course is Course.RECORDED:
            return self._record(proposal)
        if is_state_change(self.state, proposal.tool):
            self.state.changes += 1
            self.state.addresses = document["history"]["addresses"]
            tool = self.state.registry.get(proposal.tool)
            self.state.recipients |= recipients_of(tool.aims(proposal.arguments) if tool else ())
        if course is Course.ASKS and not self.approved(proposal):
            return self._denied(proposal, ("approver",))
        return self._execute(proposal, clean=Obligation.REDACT in decision.obligations)

    def decide(self, proposal: Proposal, document: Mapping[str, Any]) -> Decision:
        """Ask the engine and log the decision; no readable answer, an engine that fails included, is a denial."""
        cause = ""
        try:
            decision = self._timely(document)
        except Exception as error:  # an engine is an extension point: whatever it raises is no answer
            decision = Decision(PolicyOutcome.DENY, (UNAVAILABLE,))
            cause = said(error) if isinstance(error, PolicyUnavailable) else f"{type(error).__name__}: {said(error)}"
        denied = decision.outcome is not PolicyOutcome.ALLOW
        self.state.log(
            "decision",
            {
                "call": proposal.call,
                "outcome": decision.outcome.value,
                "layer": layer_of(decision.reasons) if denied else "none",
                "reasons": list(decision.reasons),
                "obligations": [o.value for o in decision.obligations],
                "rule": next((p for p in map(self.engine.source.place, decision.reasons) if p), "") if denied else "",
                "cause": cause,
                "input": document,
            },
        )
        return decision

    def _timely(self, document: Mapping[str, Any]) -> Decision:
        asked = self.timer()
        decision = self.engine.decide(document)
        taken = self.timer() - asked
        if taken > POLICY_SECONDS:
            raise PolicyUnavailable(f"the policy answered after {taken:.1f} s, expected at most {POLICY_SECONDS:.0f} s")
        return readable(decision)

    def approved(self, proposal: Proposal) -> bool:
        """Ask the approver and log the answer."""
        answer = approvals.answer_of(self.approver, ApprovalRequest(proposal.tool, proposal.arguments))
        self.state.log("approval", {"call": proposal.call, "approver": self.approver.name, "outcome": answer.value})
        self.state.refusals += answer is Answer.REFUSED
        if answer is not Answer.APPROVED:
            detail = "refused by the approver" if answer is Answer.REFUSED else "nobody answered"
            self.state.log(
                "refused", {"call": proposal.call, "layer": "approver", "reason": "approver", "detail": detail}
            )
        return answer is Answer.APPROVED

    def grant(self, proposal: Proposal) -> str:
        """Issue a grant, log its id and return the token."""
        grant = self.office.issue(proposal, self.state.clock.now)
        self.state.log(
            "grant",
            {
                "call": proposal.call,
                "grant": grant.id,
                "proposal_hash": grant.proposal_hash,
                "expires": grant.expires,
            },
        )
        return grant.token

    def _execute(self, proposal: Proposal, clean: bool) -> ToolResult:
        token = self.grant(proposal)
        final = proposal
        if self.between is not None:
            final = self.between(proposal, token)
        done = self.executor.execute(final, token, clean)
        if isinstance(done, Refusal):
            return self._denied(proposal, (done.reason,))
        return hand_over(self.state, final, done, clean)

    def _denied(self, proposal: Proposal, reasons: Sequence[str], mend: str = "") -> ToolResult:
        error = f"denied: {titled(reasons, self.engine.source)}" + (f"; {mend}" if mend else "")
        result = ToolResult(False, error=redact(error, self.state.world.charter.secrets), denied=tuple(reasons))
        return _log_result(self.state, proposal.call, proposal.tool, result)

    def _record(self, proposal: Proposal) -> ToolResult:
        self.state.log(
            "recommendation",
            {"call": proposal.call, "tool": proposal.tool, "arguments": proposal.arguments},
        )
        result = ToolResult(True, {"recorded": "as a recommendation, not executed"}, recorded=True)
        return _log_result(self.state, proposal.call, proposal.tool, result)


def course_of(decision: Decision) -> Course:
    """Return what becomes of a call that was decided so."""
    if decision.outcome is not PolicyOutcome.ALLOW:
        return Course.DENIED
    if Obligation.RECORD_ONLY in decision.obligations:
        return Course.RECORDED
    return Course.ASKS if Obligation.REQUIRE_APPROVAL in decision.obligations else Course.UNATTENDED


def readable(decision: Any) -> Decision:
    """Return a decision that is exactly of the agreed shape; the gateway relies on no engine for that.

    Raises:
        PolicyUnavailable: when it is not, an obligation that the gateway does not know included.
    """
    if not isinstance(decision, Decision) or not isinstance(decision.outcome, PolicyOutcome):
        raise PolicyUnavailable("the engine's answer is no decision")
    if not all(isinstance(reason, str) for reason in decision.reasons):
        raise PolicyUnavailable("the decision has a reason that is no text")
    if not all(isinstance(obligation, Obligation) for obligation in decision.obligations):
        raise PolicyUnavailable("the decision has an obligation that the gateway does not know")
    if (decision.outcome is PolicyOutcome.ALLOW) == bool(decision.reasons):
        raise PolicyUnavailable("the decision is an allowance with reasons against it, or a denial without one")
    return decision


def is_state_change(state: TrialState, tool: str) -> bool:
    """Tell whether a tool changes the world under the authority to act."""
    found = state.registry.get(tool)
    return bool(found and found.effect is not Effect.READ and found.authority is Authority.ACT)
