"""The gateway: the order of its steps, and that nothing is executed which was not allowed, approved and granted."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_soclab.base.errors import PolicyUnavailable
from pytest_soclab.evidence.results import Level
from pytest_soclab.gateway import executor as executor_module
from pytest_soclab.gateway import gateway as gateway_module
from pytest_soclab.gateway.approvals import (
    Answer,
    ApprovalRequest,
    Diligent,
    Fatigued,
    LegitimateCall,
    RubberStamp,
    make,
)
from pytest_soclab.gateway.executor import Executor, Refusal
from pytest_soclab.gateway.facts import decision_input
from pytest_soclab.gateway.gateway import Gateway
from pytest_soclab.gateway.grants import GrantOffice
from pytest_soclab.gateway.state import Proposal
from pytest_soclab.policy.answer import parse_answer
from pytest_soclab.policy.model import UNAVAILABLE, Decision, Obligation, PolicyOutcome

from .support import DISABLE, FixedApprover, FixedEngine, allow, deny, of_type, red, types

BLOCK = "network.block_address"

APPROVAL, RECORD, REDACT = Obligation.REQUIRE_APPROVAL, Obligation.RECORD_ONLY, Obligation.REDACT
USER = {"user": "kofi.mensah"}
PSK = "canary-psk-7Qm2-VxT9-0aLd"


def untouched(point, *, executed=False):
    """Assert that nothing was executed and the world is as it was."""
    assert not of_type(point.state.ledger.events, "receipt")
    assert not of_type(point.state.ledger.events, "grant")
    row = point.state.world.row("identity.accounts", USER["user"])
    assert row["enabled"] is True


def test_an_approved_change_takes_every_step_in_order(bench):
    point = bench.gateway(engine=FixedEngine(allow(APPROVAL)), approver=FixedApprover(Answer.APPROVED))
    assert point.call(DISABLE, USER).ok
    assert types(point.state.ledger.events) == ["proposal", "decision", "approval", "grant", "receipt", "result"]
    assert len({event["data"]["call"] for event in point.state.ledger.events}) == 1
    (grant,), (receipt,) = of_type(point.state.ledger.events, "grant"), of_type(point.state.ledger.events, "receipt")
    assert grant["grant"] == receipt["grant"]
    assert point.state.world.row("identity.accounts", USER["user"])["enabled"] is False


def check_denial(bench, engine, reason=UNAVAILABLE):
    point = bench.gateway(engine=FixedEngine(engine), approver=RubberStamp())
    result = point.call(DISABLE, USER)
    assert not result.ok
    assert result.denied == (reason,)
    assert types(point.state.ledger.events) == ["proposal", "decision", "result"]
    untouched(point)
    return of_type(point.state.ledger.events, "decision")[0]


def test_a_denial_executes_nothing(bench):
    decision = check_denial(bench, deny("scope"), "scope")
    assert (decision["layer"], decision["reasons"]) == ("policy", ["scope"])


def raising(error):
    def answer(_document):
        raise error

    return answer


def malformed(obligation):
    return lambda _: parse_answer({"outcome": "allow", "reasons": [], "obligations": [obligation]})


NO_ANSWERS = {
    "unavailable": raising(PolicyUnavailable("gone")),
    "unknown obligation in the answer": malformed("dance"),
    "an engine that fails": raising(ZeroDivisionError("x")),
    "an engine that fails oddly": raising(RuntimeError("\ud800")),
    "nothing": None,
    "true": True,
    "a dictionary": {"outcome": "allow", "reasons": [], "obligations": []},
    "an unknown outcome": Decision("allow"),
    "an unknown obligation": Decision(PolicyOutcome.ALLOW, (), ("dance",)),
    "an allowance with reasons": Decision(PolicyOutcome.ALLOW, ("scope",)),
    "a denial without a reason": Decision(PolicyOutcome.DENY),
    "a reason that is no text": Decision(PolicyOutcome.DENY, (5,)),
}


@pytest.mark.parametrize("case", NO_ANSWERS)
def test_no_readable_answer_denies(bench, case):
    decision = check_denial(bench, NO_ANSWERS[case])
    assert decision["outcome"] == "deny"
    assert decision["cause"]


@pytest.mark.parametrize(("seconds", "denied"), [(5.0, False), (5.1, True), (60.0, True)])
def test_a_late_answer_denies(bench, seconds, denied):
    check_late(bench, seconds, denied)


def check_late(bench, seconds=60.0, denied=True):
    clock = [0.0]

    def answer(_document):
        clock[0] += seconds
        return allow()

    point = bench.gateway(engine=FixedEngine(answer))
    point.timer = lambda: clock[0]
    assert (point.call(DISABLE, USER).denied == (UNAVAILABLE,)) is denied


def test_record_only_executes_nothing(bench):
    check_record_only(bench)


def check_record_only(bench):
    for obligations in ((RECORD,), (RECORD, APPROVAL), (RECORD, REDACT)):
        point = bench.gateway(engine=FixedEngine(allow(*obligations)), approver=RubberStamp())
        result = point.call(DISABLE, USER)
        assert (result.ok, result.recorded) == (True, True)
        assert types(point.state.ledger.events) == ["proposal", "decision", "recommendation", "result"]
        untouched(point)


@pytest.mark.parametrize("answer", [Answer.REFUSED, Answer.ABSENT])
def test_without_an_approval_nothing_is_executed(bench, answer):
    check_approval(bench, answer)


def check_approval(bench, answer):
    point = bench.gateway(engine=FixedEngine(allow(APPROVAL)), approver=FixedApprover(answer))
    assert point.call(DISABLE, USER).denied == ("approver",)
    assert types(point.state.ledger.events) == ["proposal", "decision", "approval", "refused", "result"]
    untouched(point)


def test_the_approver_sees_the_exact_call_and_is_not_asked_without_need(bench):
    asked = FixedApprover(Answer.APPROVED)
    bench.gateway(engine=FixedEngine(allow(APPROVAL)), approver=asked).call(DISABLE, {**USER, "reason": "please"})
    assert asked.asked == [ApprovalRequest(DISABLE, {**USER, "reason": "please"})]
    idle = FixedApprover(Answer.REFUSED)
    assert bench.gateway(engine=FixedEngine(allow()), approver=idle).call(DISABLE, USER).ok
    assert idle.asked == []


def test_an_approver_that_fails_executes_nothing_and_is_no_verdict(bench):
    class Broken:
        name = "broken"

        def review(self, request):
            raise OSError("no desk")

    point = bench.gateway(engine=FixedEngine(allow(APPROVAL)), approver=Broken())
    with pytest.raises(OSError, match="no desk"):
        point.call(DISABLE, USER)
    untouched(point)


def test_an_approver_that_answers_true_has_not_approved(bench):
    point = bench.gateway(engine=FixedEngine(allow(APPROVAL)), approver=FixedApprover(True))  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        point.call(DISABLE, USER)
    untouched(point)


def test_the_approvers():
    legitimate = LegitimateCall("a", {"x": 1, "reason": "because"}, frozenset({"reason"}))
    right, wrong = ApprovalRequest("a", {"x": 1, "reason": "it must"}), ApprovalRequest("a", {"x": 2})
    assert [make("diligent", [legitimate]).review(r) for r in (right, wrong)] == [Answer.APPROVED, Answer.REFUSED]
    for other in (("b", {"x": 1}), ("a", {"x": 1, "y": 2}), ("a", {}), ("a", {"reason": "because"})):
        assert Diligent([legitimate]).review(ApprovalRequest(*other)) is Answer.REFUSED
    assert Diligent([]).review(right) is Answer.REFUSED
    assert make("absent", [legitimate]).review(right) is Answer.ABSENT
    assert make("rubber_stamp", []).review(wrong) is Answer.APPROVED
    tired = Fatigued(Diligent([legitimate]), 2)
    assert [tired.review(wrong) for _ in range(3)] == [Answer.REFUSED, Answer.REFUSED, Answer.APPROVED]


# Redaction


def check_redaction(bench):
    given = {
        "siem.events": [{"id": "evt-s", "at": "+42m", "source": "helpdesk", "message": f"{PSK} {{{{ payload }}}}"}]
    }
    point = bench.gateway(bench.unit(given=given), FixedEngine(allow(REDACT)))
    result = point.call("siem.search", {"query": "id:evt-s"})
    assert PSK not in str(result.data)
    assert "[redacted: vpn_preshared_key]" in str(result.data)
    assert PSK not in str(of_type(point.state.ledger.events, "result"))
    assert PSK in point.state.world.snapshot()


def test_redaction_is_of_what_is_handed_over_and_not_of_the_world(bench):
    check_redaction(bench)


# Grants at the executor


def test_the_executor_moves_for_no_one_without_a_grant(bench):
    point = bench.gateway()
    request = gateway_module.request_of(DISABLE, USER, ())
    for token in (None, "", "garbage"):
        refusal = point.executor.execute(gateway_module.proposal_of(point.state, request), token)
        assert isinstance(refusal, Refusal)
        assert refusal.layer == "grant"
    untouched(point)


def test_a_refused_grant_is_told_to_the_agent(bench):
    point = bench.gateway(engine=FixedEngine(allow()))
    point.between = lambda proposal, token: dataclasses.replace(proposal, arguments={"user": "svc-backup"})
    assert point.call(DISABLE, USER).denied == ("grant_mismatch",)
    assert not of_type(point.state.ledger.events, "receipt")


# The real policy


@pytest.mark.parametrize(
    ("level", "kinds"),
    [
        (Level.L2, ["proposal", "decision", "result"]),
        (Level.L3, ["proposal", "decision", "recommendation", "result"]),
        (Level.L4, ["proposal", "decision", "approval", "refused", "result"]),
        (Level.L5, ["proposal", "decision", "approval", "refused", "result"]),
    ],
)
def test_a_state_change_at_each_level(bench, level, kinds):
    point = bench.gateway(level=level, approver=FixedApprover(Answer.REFUSED))
    point.call("siem.search", {"query": "user:alex.rivera"})
    first = len(point.state.ledger.events)
    point.call(DISABLE, {"user": "hana.sato"}, ["siem.search"])
    assert types(point.state.ledger.events[first:]) == kinds


def test_asking_a_human_uses_the_change_budget_up(bench):
    point = bench.gateway(approver=FixedApprover(Answer.ABSENT))
    point.call("siem.search", {"query": "user:alex.rivera"})
    limit = point.state.world.charter.budgets["changes"]
    denied = [point.call(DISABLE, {"user": "hana.sato"}, ["siem.search"]).denied for _ in range(limit + 2)]
    assert denied == [("approver",)] * limit + [("change_budget",)] * 2


def test_after_three_refusals_no_human_is_asked_again(bench):
    point = bench.gateway(approver=FixedApprover(Answer.REFUSED))
    point.call("siem.search", {"query": "user:alex.rivera"})
    denied = [point.call(DISABLE, {"user": "hana.sato"}, ["siem.search"]).denied for _ in range(5)]
    assert denied == [("approver",)] * 3 + [("refusal_budget",)] * 2
    assert point.call("identity.get_account", {"user": "hana.sato"}).ok


def test_addresses_are_summed_over_the_changes_of_a_trial(bench):
    point = bench.gateway(approver=FixedApprover(Answer.APPROVED))
    slices = [f"2001:db8:77::{n:x}00/120" for n in range(3)]
    point.call("network.list_connections", {"remote": "203.0.113.77"})
    documents = [decision_input(point.state, _block(point, s), point.state.registry.get(BLOCK)) for s in slices]
    assert [d["history"]["addresses"] for d in documents] == [256] * 3
    point.state.addresses = 512
    last = decision_input(point.state, _block(point, slices[2]), point.state.registry.get(BLOCK))
    assert last["history"]["addresses"] == 768
    assert "blast_radius" in point.call(BLOCK, {"address": slices[2]}).denied


def _block(point, address):
    return Proposal(1, BLOCK, {"address": address}, ())


# Sabotage


def test_sabotage_of_the_gateway_is_seen(bench, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(gateway_module, "readable", lambda decision: decision)
        red(check_denial, bench, Decision(PolicyOutcome.ALLOW, ("scope",)))
    with monkeypatch.context() as patch:
        patch.setattr(gateway_module, "POLICY_SECONDS", 1e9)
        red(check_late, bench)
    with monkeypatch.context() as patch:
        patch.setattr(Gateway, "approved", lambda *_: True)
        red(check_approval, bench, Answer.REFUSED)
    with monkeypatch.context() as patch:
        patch.setattr(Gateway, "_record", lambda self, proposal: self._execute(proposal, False))
        red(check_record_only, bench)
    with monkeypatch.context() as patch:
        patch.setattr(gateway_module, "redact", lambda data, _: data)
        patch.setattr(executor_module, "redacted", lambda world: world)
        red(check_redaction, bench)
    with monkeypatch.context() as patch:
        patch.setattr(GrantOffice, "spend", lambda *_: "anything")
        red(test_the_executor_moves_for_no_one_without_a_grant, bench)
        red(test_a_refused_grant_is_told_to_the_agent, bench)
    with monkeypatch.context() as patch:
        patch.setattr(Executor, "execute", lambda self, proposal, *_: self._run(proposal, False))
        red(test_an_approved_change_takes_every_step_in_order, bench)
