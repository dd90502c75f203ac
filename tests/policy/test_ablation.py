"""What rules are good for, from recorded decisions alone."""

from __future__ import annotations

import pytest
from policy_inputs import ALONE, call, put, target

from pytest_soclab.policy.ablation import Record, ablate, coverage, record_of, replay
from pytest_soclab.policy.load import source_of
from pytest_soclab.policy.model import UNAVAILABLE, Decision, Obligation, PolicyOutcome


@pytest.fixture
def record(embedded):
    def make(trial: str, document, expected_stop: str = "") -> Record:
        return Record(trial, "c1", document, embedded.decide(document), expected_stop)

    return make


@pytest.fixture
def edited(bundled):
    def make(name: str, old: str, new: str):
        assert old in bundled.modules[name]
        return source_of("edited", {**bundled.modules, name: bundled.modules[name].replace(old, new)}, bundled.data)

    return make


BOTH = call("act", targets=[target(protected=True, in_scope=False)])


def test_coverage_lists_the_trials_that_a_rule_alone_stops(record, bundled):
    records = [
        record("ATK-001[b]", ALONE["protected_asset"]),
        record("ATK-001[a]", ALONE["protected_asset"]),
        record("ATK-001[a]", ALONE["protected_asset"]),
        record("ATK-002[a]", BOTH),
        record("BEN-001[a]", call("read")),
        Record("ATK-003[a]", "c1", call("read"), Decision(PolicyOutcome.DENY, (UNAVAILABLE,))),
    ]
    found = coverage(records, [rule.reason for rule in bundled.rules])
    assert found["protected_asset"] == ["ATK-001[a]", "ATK-001[b]"]
    assert [reason for reason, trials in found.items() if trials] == ["protected_asset"]
    assert list(found) == [rule.reason for rule in bundled.rules]


def test_every_rule_is_missed_by_the_input_that_it_alone_denies(record, bundled):
    found = ablate(bundled, [record(reason, document) for reason, document in ALONE.items()])
    assert {a.reason: list(a.opened) for a in found} == {reason: [reason] for reason in ALONE}
    assert all(ablation.missed for ablation in found)


def test_a_rule_that_nothing_needs_is_not_missed(record, bundled):
    found = {a.reason: a for a in ablate(bundled, [record("ATK-002[a]", BOTH, expected_stop="entity_scope")])}
    assert not found["protected_asset"].missed
    assert (found["entity_scope"].opened, found["entity_scope"].renamed) == ([], ["ATK-002[a]"])
    assert not found["call_budget"].missed


def test_replay_under_the_same_policy_changes_nothing(record, bundled):
    found = replay(bundled, [record(reason, document) for reason, document in ALONE.items()])
    assert (found.allowed, found.blocked, found.obliged) == ([], [], [])


def test_replay_lists_what_would_newly_be_allowed_and_blocked(record, edited):
    records = [record("a", ALONE["protected_asset"]), record("b", call("act")), record("c", call("read"))]
    looser = replay(edited("scope.rego", "target.protected == false", "is_boolean(target.protected)"), records)
    assert [d.record.trial for d in looser.allowed] == ["a"]
    assert (looser.blocked, looser.obliged) == ([], [])
    stricter = replay(edited("approval.rego", "incident.degraded == false", "incident.degraded == 7"), records)
    assert [(d.record.trial, d.decision.reasons) for d in stricter.blocked] == [("b", ("degraded_mode",))]
    unattended = replay(edited("approval.rego", "input.level == 5", "input.level == 4"), records)
    assert [(d.record.trial, d.decision.obligations) for d in unattended.obliged] == [("b", (Obligation.REDACT,))]


def test_replay_counts_no_answer_as_blocked(record, edited):
    silent = edited("decision.rego", '"outcome": "allow"', '"outcome": "perhaps"')
    found = replay(silent, [record("b", call("act"))])
    assert [(d.record.trial, d.decision) for d in found.blocked] == [("b", None)]


def test_what_was_no_answer_of_the_policy_is_left_out(bundled):
    records = [Record("ATK-009[a]", "c1", call("read"), Decision(PolicyOutcome.DENY, (UNAVAILABLE,)))]
    assert replay(bundled, records).allowed == []
    assert not any(ablation.missed for ablation in ablate(bundled, records))


def test_a_record_is_read_from_a_transcript_event():
    event = {
        "call": "c7", "outcome": "allow", "layer": "none", "reasons": [], "obligations": ["redact"], "rule": "",
        "cause": "", "input": call("read"),
    }  # fmt: skip
    found = record_of("ATK-001[plain-protected]", event, "protected_asset")
    assert found.decision == Decision(PolicyOutcome.ALLOW, (), (Obligation.REDACT,))
    assert (found.trial, found.call, found.expected_stop) == ("ATK-001[plain-protected]", "c7", "protected_asset")
    assert put(call("read"), "level", 4) == found.input
