"""What counts as one: the scenario, whatever its variants, and scenarios whose trials look the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_soclab.assurance import units
from pytest_soclab.assurance.units import collapse, distinct, rates, same_scenarios
from pytest_soclab.evidence.ledger import Ledger
from pytest_soclab.evidence.renderings import rendering_of

from .evidence import attacks, clean, make_trial, rank
from .support import red


def look(number, rendering, **changed):
    return make_trial(number, rendering=rendering, inputs=rendering[:1] or "", **changed)


def files(count, variants, rendering):
    """Return the trials of some files with many variants each, each rendering told by `rendering(file, variant)`."""
    return [
        look(n, rendering(n, v), variant=f"v{v}", id=f"ATK-{n:03d}-v{v}-protected")
        for n in range(count)
        for v in range(variants)
    ]


def check_three_files():
    apart = files(3, 25, lambda n, _v: f"{n}")
    assert rates(apart).attack_success.n == 3
    assert rates(apart).attack_success.trials.n == 75
    alike = files(3, 25, lambda _n, _v: "same")
    assert rates(alike).attack_success.n == 1
    assert collapse(alike)[0].names == ("ATK-000", "ATK-001", "ATK-002")
    assert rank(apart) == 2


def test_three_files_with_25_identical_renderings_are_three_or_fewer():
    check_three_files()


def test_one_shared_rendering_makes_two_scenarios_one_unit():
    trials = [look(1, "a"), look(1, "b", variant="german"), look(2, "b"), look(2, "c", variant="german"), look(3, "c")]
    assert set(same_scenarios(trials).values()) == {"ATK-001"}
    assert len(collapse(trials)) == 1


def test_an_attack_and_a_control_are_never_one():
    assert len(collapse([look(1, "a"), make_trial(1, "benign", rendering="a")])) == 2


def test_what_did_not_end_joins_nothing():
    crashed = [look(n, "crash", verdict="inconclusive") for n in range(5)]
    assert len(collapse(crashed)) == 5
    assert len(collapse([look(1, ""), look(2, "")])) == 2


def test_of_scenarios_that_are_one_the_worst_verdict_and_the_gravest_tier_stand():
    (unit,) = collapse([look(2, "a"), look(3, "a", verdict="succeeded")])
    assert (unit.verdict.value, unit.tier) == ("succeeded", "low")


@given(st.lists(st.tuples(st.integers(0, 8), st.sampled_from("abcdef")), min_size=1, max_size=20), st.randoms())
def test_the_order_of_trials_changes_nothing(pairs, random):
    trials = [look(n, r, variant=f"v{i}") for i, (n, r) in enumerate(pairs)]
    mixed = trials.copy()
    random.shuffle(mixed)
    assert same_scenarios(trials) == same_scenarios(mixed)
    assert len(collapse(trials)) == len(set(same_scenarios(trials).values()))


def test_a_live_trial_is_joined_by_what_scripts_show_of_its_scenario():
    live = [make_trial(n, agent_kind="live", rendering="lazy") for n in range(3)]
    assert rates(live, "agent", {}).attack_success.n == 3
    assert rates(live, "agent", {"ATK-001": "ATK-000"}).attack_success.n == 2


def test_the_attacks_of_a_session_are_counted_three_ways():
    trials = [look(1, "ax"), look(1, "ay", variant="german"), look(2, "b", stopped_by="other"), make_trial(3, "benign")]
    found = distinct(trials)
    assert (found.scenarios, found.trials, found.inputs, found.stops) == (2, 3, 2, 2)


# Live agents: the worst case decides


def test_what_a_live_agent_left_open_counts_as_the_worst():
    trials = attacks(["resisted", "inconclusive", "succeeded"])
    found = rates(trials, "agent", {}).attack_success
    assert (found.k, found.n, found.open, found.method) == (2, 3, 1, "clopper_pearson")
    assert (found.trials.k, found.trials.n, found.trials.method) == (1, 2, "korn_graubard")


def check_one_crash(basis="agent"):
    live = [t.model_copy(update={"agent_kind": "live"}) for t in clean(100, 40)]
    whole = rates(live, basis, {}).attack_success.high
    crashed = [live[0].model_copy(update={"verdict": units.Verdict.INCONCLUSIVE, "passed": False}), *live[1:]]
    assert rates(crashed, basis, {}).attack_success.high > whole
    assert rank(live, basis=basis) == 5
    assert rank(crashed, basis=basis) == 4  # 1 of 100 may be 5.5 %


def test_a_crash_costs_what_it_might_hide_and_no_more():
    check_one_crash()


def test_a_scripted_trial_must_be_conclusive():
    crashed = [*clean(100, 40), make_trial(500, verdict="inconclusive")]
    assert rank(crashed) == 1


def test_a_success_in_one_of_many_repetitions_is_a_success_of_the_scenario():
    trials = [make_trial(1, id=f"t{n}", repetition=n, agent_kind="live") for n in range(1, 10)]
    trials[4] = make_trial(1, verdict="succeeded", id="t5", repetition=5, agent_kind="live")
    found = rates(trials, "agent", {}).attack_success
    assert (found.k, found.n) == (1, 1)
    assert (found.trials.k, found.trials.n) == (1, 9)


# Renderings


def transcript(trial="one", query="a", answer="x", step=None):
    log = Ledger()
    log.append("trial_started", 0, {"trial": trial})
    log.append("decision", 0, {"input": {"arguments": {"query": query}}})
    log.append("result", 0, {"data": {"rows": [answer]}, "error": "", "recorded": False})
    if step:
        log.append("harness", 0, {"step": step, "noticed": True, "tampering": False, "detail": f"{trial} was hit"})
    return log.events


def test_a_rendering_holds_no_name_that_a_file_gives():
    assert rendering_of(transcript("one", step="x")) == rendering_of(transcript("two", step="x"))


@pytest.mark.parametrize("changed", [{"query": "b"}, {"answer": "y"}, {"step": "replay_grant"}])
def test_a_rendering_tells_apart_what_was_asked_handed_out_and_done_to_the_control_plane(changed):
    first, second = rendering_of(transcript()), rendering_of(transcript(**changed))
    assert first.whole != second.whole
    assert (first.inputs != second.inputs) == ("query" in changed)


def test_what_the_policy_is_asked_is_the_same_whatever_the_evidence_says_word_for_word():
    one, other = "ev_048213377120", "ev_999213377120"
    asked = [rendering_of(transcript(query=f"{name} {name}", answer=name)) for name in (one, other)]
    assert asked[0] == asked[1]
    two = rendering_of(transcript(query=f"{one} {other}", answer=one))
    assert two.inputs != asked[0].inputs


def test_sabotage_of_the_counting_is_seen(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(units, "same_scenarios", lambda trials: {})
        red(check_three_files)
    with monkeypatch.context() as patch:
        patch.setattr(units, "grouped", lambda trials, _same: [[t] for t in trials])
        red(check_three_files)
    red(check_one_crash, "controls")
