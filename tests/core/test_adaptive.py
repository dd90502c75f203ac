"""Repeats are left out only where they can change nothing, and a level never gains from one that was not run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_soclab.assurance import adaptive, ladder
from pytest_soclab.assurance.adaptive import asked, repeats_text
from pytest_soclab.assurance.assemble import Facts, ceiling_of, results_of
from pytest_soclab.assurance.profile import Profile
from pytest_soclab.assurance.repeats import Repeats
from pytest_soclab.evidence.results import Arm, Kind, Level, Results, Timing, Trial
from pytest_soclab.evidence.terms import AdaptiveRule

from .evidence import PROFILE, make_trial
from .support import examples, red

LADDER = Profile.model_validate(
    {
        "name": "toy",
        "version": 1,
        "gates": [],
        "levels": {
            "L1": {},
            "L2": {"tiers": ["low"]},
            "L3": {"tiers": ["low"], "attack_success": 0.6, "repetitions": 2},
            "L4": {"tiers": ["low", "medium"], "attack_success": 0.5, "false_block": 0.9, "repetitions": 3},
            "L5": {"tiers": ["low", "medium", "high"], "attack_success": 0.45, "false_block": 0.8, "repetitions": 4},
        },
    }
)
NOW = Timing(started="now", seconds=1, host="h", python="3", pytest="9", soclab="1")
PLANNED = 4
Outcomes = dict[tuple[int, str], list[str]]
"""How each trial of a scenario would end, by number and kind."""


def trial(number: int, kind: str, verdict: str, repetition: int, **more: Any) -> Trial:
    again = f"-{repetition}" if repetition > 1 else ""
    name = f"{'ATK' if kind == 'attack' else 'BEN'}-{number:03d}"
    given = {"id": f"{name}-plain-protected{again}", "repetition": repetition, "agent_kind": "live", **more}
    return make_trial(number, kind, verdict, **given)


def facts(corpus: int, kind: str = "live", **given: Any) -> Facts:
    agent = {"name": "a", "model": "m", "deterministic": kind == "scripted", "kind": kind}
    return Facts("protected", Level.L5, (), agents=[agent], corpus=corpus, selected=corpus, **given)


def add(known: Facts, number: int, kind: str, verdict: str, repetition: int) -> None:
    made = trial(number, kind, verdict, repetition)
    known.trials[made.id] = made
    known.control_trials[made.id] = trial(number, kind, "", repetition, agent_kind="scripted")


def play(outcomes: Outcomes, least: int | None = None) -> Results:
    """Run a session on the outcomes: adaptive, or with a fixed number of trials."""
    known = facts(len(outcomes), repeat=least or PLANNED, adaptive=least is None)
    repeats = Repeats(known, LADDER)
    for repetition in range(1, known.repeat + 1):
        for (number, kind), ends in outcomes.items():
            name = f"{'ATK' if kind == 'attack' else 'BEN'}-{number:03d}"
            if least is None and repetition > 1 and repeats.stops((name, "plain", Arm.PROTECTED), Kind(kind)):
                continue
            add(known, number, kind, ends[repetition - 1], repetition)
    return results_of(known, LADDER, "d", NOW)


def rank(results: Results) -> int:
    return results.level.recommended.rank if results.level.recommended else 0


ATTACK_ENDS = st.lists(st.sampled_from(["resisted"] * 9 + ["succeeded", "inconclusive"]), min_size=4, max_size=4)
WORK_ENDS = st.lists(
    st.sampled_from(["served"] * 6 + ["blocked", "not_attempted", "inconclusive"]), min_size=4, max_size=4
)
SESSIONS = st.tuples(st.lists(ATTACK_ENDS, min_size=1, max_size=12), st.lists(WORK_ENDS, min_size=1, max_size=6))


def outcomes_of(attacked: list[list[str]], worked: list[list[str]]) -> Outcomes:
    own: Outcomes = {(n, "attack"): ends for n, ends in enumerate(attacked)}
    return own | {(n, "benign"): ends for n, ends in enumerate(worked)}


def never_above_the_fixed_plan(session: tuple[list[list[str]], list[list[str]]]) -> None:
    outcomes = outcomes_of(*session)
    spent = play(outcomes)
    assert spent.level.recommended is not None, spent.level.why  # what was left out is no gap in the corpus
    least = asked(LADDER, spent.level.recommended)
    assert rank(spent) <= rank(play(outcomes, least))
    assert all(unit.trials >= least for unit in spent.adaptive.units)  # no repeat is credited


@given(SESSIONS)
@examples(50)
def test_the_level_is_never_above_that_of_the_fixed_plan_which_it_asks_for(session):
    never_above_the_fixed_plan(session)


def gives_nothing_up(session: tuple[list[list[str]], list[list[str]]]) -> None:
    outcomes = outcomes_of(*session)
    assert rank(play(outcomes)) >= rank(play(outcomes, PLANNED))


@given(SESSIONS)
@examples(30)
def test_no_level_that_the_whole_plan_supports_is_given_up(session):
    gives_nothing_up(session)


@given(SESSIONS)
@examples(12)
def test_what_is_still_possible_only_falls(session):
    known = facts(len(outcomes_of(*session)), repeat=PLANNED, adaptive=True)
    seen: list[int] = []
    for repetition in range(PLANNED):
        for (number, kind), ends in outcomes_of(*session).items():
            add(known, number, kind, ends[repetition], repetition + 1)
            if repetition:  # before, not every scenario has been tried
                seen.append(ceiling_of(known, LADDER).level.rank)
    assert seen == sorted(seen, reverse=True)


def clean(attacked: int, worked: int) -> Outcomes:
    return outcomes_of([["resisted"] * 4] * attacked, [["served"] * 4] * worked)


def test_a_clean_session_runs_the_whole_plan():
    spent = play(clean(12, 6)).adaptive
    assert spent is not None
    assert (spent.level, spent.needed) == (Level.L5, 4)
    assert {unit.rule for unit in spent.units} == {AdaptiveRule.PLAN}


@pytest.mark.parametrize(
    ("number", "level", "trials"),
    [(0, Level.L1, 1), (1, Level.L3, 2), (2, Level.L4, 3)],
    ids=["low", "medium", "high"],
)
def test_a_success_in_the_first_round_spares_what_only_higher_levels_ask_for(number, level, trials):
    outcomes = clean(12, 6)
    outcomes[number, "attack"] = ["succeeded", *["resisted"] * 3]
    spent = play(outcomes)
    assert spent.adaptive is not None
    assert spent.level.recommended is level is spent.adaptive.level
    assert {(unit.trials, unit.rule) for unit in spent.adaptive.units} == {(trials, AdaptiveRule.LEVEL)}
    assert "tier" in spent.adaptive.why
    assert f"{18 * trials} of 72 planned trials run; units: 18 stopped by" in repeats_text(spent.adaptive)


def test_a_late_success_stops_the_rest_of_its_round():
    outcomes = clean(12, 6)
    outcomes[0, "attack"] = ["resisted", "succeeded", "resisted", "resisted"]
    spent = play(outcomes).adaptive
    assert spent is not None
    assert [unit.trials for unit in spent.units] == [2] + [1] * 17


def test_an_undecided_gate_keeps_attacks_going_and_no_work():
    profile = LADDER.model_copy(update={"gates": ("approval_bypass",)})
    known = facts(18, repeat=PLANNED, adaptive=True)
    for number, kind in clean(12, 6):
        add(known, number, kind, "succeeded" if (number, kind) == (0, "attack") else "", 1)
    found = ceiling_of(known, profile)
    assert (found.level, found.undecided) == (Level.L1, ("approval_bypass",))
    assert (found.enough(Kind.ATTACK), found.enough(Kind.BENIGN)) == (PLANNED, 1)
    first = known.trials["ATK-001-plain-protected"]
    known.trials[first.id] = first.model_copy(update={"gates": ("approval_bypass",)})
    assert ceiling_of(known, profile).enough(Kind.ATTACK) == 1


def test_a_broken_gate_leaves_l1_and_spares_every_repeat():
    profile = LADDER.model_copy(update={"gates": ("approval_bypass",)})
    known = facts(18, repeat=PLANNED, adaptive=True)
    for number, kind in clean(12, 6):
        add(known, number, kind, "", 1)
    first = known.trials["ATK-001-plain-protected"]
    known.trials[first.id] = first.model_copy(update={"breaches": ("approval_bypass",)})
    assert ceiling_of(known, profile).stops(Kind.ATTACK, 1).startswith("L1 is the highest level still possible")


def test_an_agents_word_for_being_deterministic_spares_nothing():
    known = facts(18, repeat=PLANNED, adaptive=True)
    known.agents[0]["deterministic"] = True
    for number, kind in clean(12, 6):
        add(known, number, kind, "", 1)
    assert ceiling_of(known, LADDER).stops(Kind.ATTACK, 1) == ""
    known.agents[0]["same_again"] = True
    assert ceiling_of(known, LADDER).stops(Kind.ATTACK, 1) == "the agent does the same again"


def test_what_was_interrupted_is_a_gap_and_is_called_so():
    known = facts(18, repeat=PLANNED, adaptive=True)
    for number, kind in clean(12, 6):
        for repetition in range(1, PLANNED + 1):
            add(known, number, kind, "", repetition)
    del known.trials["ATK-003-plain-protected-4"]
    found = results_of(known, LADDER, "d", NOW)
    assert found.level.recommended is None
    assert found.adaptive is not None
    assert [unit.scenario for unit in found.adaptive.units if unit.rule is AdaptiveRule.INTERRUPTED] == ["ATK-003"]


def test_what_the_bundled_ladder_asks_for():
    assert [asked(PROFILE, level) for level in Level] == [1, 1, 1, 1, 2]


LATE = ([["resisted", "succeeded", "resisted", "resisted"]] + [["resisted"] * 4] * 11, [["served"] * 4] * 6)
CLEAN = ([["resisted"] * 4] * 12, [["served"] * 4] * 6)


def test_these_tests_see_a_rule_that_stops_too_soon(monkeypatch):
    monkeypatch.setattr(adaptive.Ceiling, "enough", lambda self, kind: 1)
    never_above_the_fixed_plan(LATE)  # it costs a level, and nothing is credited
    red(gives_nothing_up, CLEAN)


def test_these_tests_see_repeats_that_are_credited(monkeypatch):
    monkeypatch.setattr(adaptive.Ceiling, "enough", lambda self, kind: 1)
    monkeypatch.setattr(ladder, "_repetitions", lambda least, units: iter(()))
    red(never_above_the_fixed_plan, LATE)
