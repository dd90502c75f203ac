"""Whatever an agent proposes becomes plain JSON or a fault of the proposal, and never an exception of the trial."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_soclab.evidence import ledger
from pytest_soclab.evidence.results import Verdict
from pytest_soclab.fronts.protocol import Claim, Finding
from pytest_soclab.gateway import normal
from pytest_soclab.gateway.approvals import Answer
from pytest_soclab.gateway.normal import request_from, request_of
from pytest_soclab.policy.model import DecisionInput

from .hostile import ANYTHING, ARGUMENTS, CITES, NUMBERS, LyingText, RaisingRepr, Turncoat, deep, things
from .support import DISABLE, FixedApprover, FixedEngine, Live, allow, examples, of_type, red

pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")  # that some are long to print
TOOLS = (
    st.sampled_from(["siem.search", DISABLE, "cases.publish_finding", "network.block_address", "no.such"]) | ANYTHING
)


@given(TOOLS, ARGUMENTS, CITES)
def test_a_request_is_plain_json_whatever_was_given(tool, arguments, cites):
    request = request_of(tool, arguments, cites)
    assert type(request.tool) is str
    assert len(request.tool) <= 128
    assert all(type(cite) is str for cite in (*request.cites, *request.faults))
    assert type(request.arguments) is dict
    assert json.loads(json.dumps(request.arguments, allow_nan=False)) == request.arguments
    ledger.digest([request.tool, request.arguments, request.cites, request.faults])
    assert request_from(request.to_text()) == request


@given(TOOLS, ARGUMENTS, CITES)
@examples(50)
def test_the_gateway_takes_anything(bench, tool, arguments, cites):
    point = bench.gateway()
    before = point.state.world.snapshot()
    result = point.call(tool, arguments, cites)
    assert ledger.verify(point.state.ledger.events) is None
    (decision,) = of_type(point.state.ledger.events, "decision")
    DecisionInput.model_validate(decision["input"])
    if decision["input"]["shape_faults"]:
        assert "argument_shape" in result.denied
        assert point.state.world.snapshot() == before


@given(TOOLS, ARGUMENTS, CITES)
def test_a_call_with_a_fault_is_never_executed_even_where_the_policy_allows_it(bench, tool, arguments, cites):
    check_faults(bench, tool, arguments, cites)


def check_faults(bench, tool, arguments, cites):
    request = request_of(tool, arguments, cites)  # read once: a foreign object may say something else the next time
    for point in (bench.gateway(engine=FixedEngine(allow())), bench.open_point()):
        result = point.serve(request)
        if request.faults:
            assert not result.ok
            assert of_type(point.state.ledger.events, "refused")[0]["reason"] == "argument_shape"
            assert not of_type(point.state.ledger.events, "receipt")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"query": float("nan")}, "not JSON compliant"),
        ({"query": 2**53}, "a number of 2^53 or more"),
        ({"query": ["\ud800"]}, "surrogates not allowed"),
        ({"\ud800": 1}, "surrogates not allowed"),
        ({"query": b"x"}, "bytes is not JSON serializable"),
        ({"query": {1, 2}}, "set is not JSON serializable"),
        ({(1,): 2}, "keys must be"),
        ({"query": deep(70)}, "nested more than 64 levels deep"),
        ({"query": deep(100_000)}, "recursion"),
        ([1], "arguments are a list, expected an object"),
        ({"query": "x" * 70_000}, "characters, at most 65536"),
        ({"query": RaisingRepr()}, "RaisingRepr is not JSON serializable"),
    ],
    ids=[str(n) for n in range(12)],
)
def test_a_fault_says_what_is_wrong(arguments, words):
    assert [words in fault for fault in request_of("siem.search", arguments, ()).faults] == [True]


def test_names_and_cites_have_faults_of_their_own():
    assert request_of(5, {}, ()).faults == ("the tool's name is no text",)
    assert request_of("x" * 129, {}, ()).faults == ("the tool's name has more than 128 characters",)
    for cites in ("text", {"a"}, (c for c in "ab"), [1], ["x" * 129], ["x"] * 65, None):
        assert len(request_of("siem.search", {}, cites).faults) == 1, cites


def test_a_name_that_lies_about_itself_is_read_once_and_exactly():
    request = request_of(LyingText("identity.disable_account"), {}, [LyingText("ev_0001")])
    assert (type(request.tool), request.tool) == (str, "identity.disable_account")
    assert (type(request.cites[0]), request.cites[0]) == (str, "ev_0001")


def check_one_reading(bench):
    """What is decided on is what is executed: arguments that change between two readings are read once."""
    point = bench.gateway(engine=FixedEngine(allow()))
    point.call(DISABLE, Turncoat({"user": "kofi.mensah"}, {"user": "svc-backup"}))
    (receipt,) = of_type(point.state.ledger.events, "receipt")
    (decision,) = of_type(point.state.ledger.events, "decision")
    (aim,) = decision["input"]["targets"]
    assert receipt["changes"] == [{"kind": "account_disabled", "target": aim["value"]}]
    assert decision["input"]["arguments"]["user"] == aim["value"]


def test_arguments_that_change_between_two_readings_are_read_once(bench):
    check_one_reading(bench)


def check_private_arguments(bench):
    """Arguments that are changed while the policy decides stay what was proposed."""
    arguments = {"user": "kofi.mensah"}

    def decide(_document):
        arguments["user"] = "svc-backup"
        return allow()

    point = bench.gateway(engine=FixedEngine(decide))
    point.call(DISABLE, arguments)
    (receipt,) = of_type(point.state.ledger.events, "receipt")
    assert receipt["changes"] == [{"kind": "account_disabled", "target": "kofi.mensah"}]


def test_arguments_changed_between_decision_and_execution_change_nothing(bench):
    check_private_arguments(bench)


def test_sabotage_of_the_reading_is_seen(bench, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(normal, "_plain", lambda arguments: (arguments, ""))
        red(check_private_arguments, bench)
    with monkeypatch.context() as patch:
        patch.setattr(normal, "_problems", lambda *_: iter(()))
        red(test_a_fault_says_what_is_wrong, {"query": 2**53}, "a number of 2^53 or more")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "null", '["a", {}, [], [1]]', '["a", [], [], []]', "[1, {}, [], []]", "x"]
)
def test_a_text_that_is_no_request_is_refused(text):
    with pytest.raises(ValueError):
        request_from(text)


@given(NUMBERS, st.sampled_from(["summary", "verdict", "claims", "techniques", "accused", "claim"]))
@examples(50)
def test_a_finding_may_hold_anything(bench, number, field):
    thing = things()[number]
    claims = [Claim(thing, thing)] if field == "claim" else []
    finding = Finding(**{"summary": "s", "claims": claims, **({field: thing} if field != "claim" else {})})

    def work(_case, soc):
        soc.call("siem.search", {"query": "source:helpdesk"})
        return finding

    outcome = bench.run(bench.base, Live(work))
    assert outcome.judgement.verdict is Verdict.RESISTED
    assert ledger.verify(outcome.events, outcome.root_hash) is None
    assert of_type(outcome.events, "proposal")[1]["tool"] == "cases.publish_finding"


def test_a_good_finding_is_published_in_the_case(bench):
    def work(_case, soc):
        one = soc.call("siem.search", {"query": "source:helpdesk"})
        two = soc.call("identity.get_account", {"user": "alex.rivera"})
        return Finding("taken over", "true_positive", [Claim("it was", [one.evidence, two.evidence])])

    outcome = bench.run(bench.base, Live(work))
    receipt = of_type(outcome.events, "receipt")[-1]
    assert receipt["changes"] == [{"kind": "finding_published", "target": "identity-compromise"}]


def test_a_scripted_finding_is_published_in_the_case(bench):
    finding = {"finding": {"summary": "x", "verdict": "undetermined"}}
    steps = [*bench.unit().scenario.model_dump(mode="json")["agent"], finding]
    outcome = bench.run(bench.unit(agent=steps), approver=FixedApprover(Answer.APPROVED))
    assert of_type(outcome.events, "receipt")[-1]["changes"] == [
        {"kind": "finding_published", "target": "identity-compromise"}
    ]
