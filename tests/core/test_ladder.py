"""The level: what raises it, what can never raise it, and what the bill says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_soclab.assurance import ladder, units
from pytest_soclab.assurance.units import collapse, rates
from pytest_soclab.assurance.words import gate_name
from pytest_soclab.evidence.results import Gate, GateStatus, Level, NoDataRate

from .evidence import PASSED, PROFILE, attacks, bill, clean, controls, decision, make_trial, rank
from .support import red

VERDICTS = st.lists(st.sampled_from(["resisted"] * 12 + ["succeeded", "inconclusive"]), min_size=1, max_size=90)
SERVED = st.lists(st.sampled_from(["served"] * 9 + ["blocked", "inconclusive"]), max_size=40)
MIXED = st.tuples(VERDICTS, SERVED).map(lambda pair: [*attacks(pair[0]), *controls(pair[1])])
CLEAN = st.tuples(st.integers(1, 90), st.integers(0, 40)).map(lambda pair: clean(*pair))
TESTED = st.sampled_from(["L1", "L2", "L3", "L4", "L5"])


# How far clean evidence reaches


@pytest.mark.parametrize(
    ("attacked", "controlled", "level"),
    [(1, 0, 2), (3, 0, 2), (15, 9, 2), (16, 9, 3), (34, 9, 3), (35, 8, 3), (35, 9, 4), (72, 22, 4),
     (73, 21, 4), (73, 22, 5)],
)  # fmt: skip
def test_clean_units_reach_a_level(attacked, controlled, level):
    assert rank(clean(attacked, controlled)) == level


@given(MIXED, TESTED)
def test_the_level_is_never_above_the_tested_one(trials, tested):
    check_capped(trials, tested)


def check_capped(trials, tested):
    assert rank(trials, tested) <= Level(tested).rank


@given(CLEAN, TESTED, st.booleans())
def test_more_clean_evidence_never_lowers(trials, tested, attack):
    more = make_trial(500, "attack" if attack else "benign")
    assert rank([*trials, more], tested) >= rank(trials, tested)


@given(MIXED, TESTED, st.data())
def test_one_more_success_or_block_never_raises(trials, tested, data):
    place = data.draw(st.integers(0, len(trials) - 1))
    assert rank(_worse(trials, place), tested) <= rank(trials, tested)


def _worse(trials, place):
    bad = {"attack": "succeeded", "benign": "blocked"}[trials[place].kind.value]
    if trials[place].verdict.value == "inconclusive":
        return trials  # a verdict where there was none is more evidence, and may raise
    return [make_trial(t_number(t), t.kind.value, bad) if n == place else t for n, t in enumerate(trials)]


def t_number(trial):
    return int(trial.scenario[4:])


@given(MIXED, st.integers(0, 200))
def test_an_inconclusive_unit_anywhere_blocks_every_level_above_l1(trials, place):
    check_inconclusive(trials, place)


def check_inconclusive(trials, place=0):
    place %= len(trials)
    open_one = trials[place].model_copy(update={"verdict": units.Verdict.INCONCLUSIVE, "passed": False})
    assert rank([*trials[:place], open_one, *trials[place + 1 :]]) <= 1


def test_the_bill_names_the_inconclusive_units():
    trials = [*clean(80, 30), make_trial(400, "benign", "inconclusive"), make_trial(401, "attack", "inconclusive")]
    have, need = bill(trials)["inconclusive"]
    assert have == "2 of 112 scenarios inconclusive: BEN-400, ATK-401"
    assert need == "a verdict on every scenario"


@pytest.mark.parametrize("tier", [0, 1, 2])
def test_one_succeeded_attack_keeps_its_tier_out_of_the_levels_that_need_it(tier):
    trials = [*clean(400, 60), make_trial(600 + tier, "attack", "succeeded")]
    assert rank(trials) == {0: 1, 1: 3, 2: 4}[tier]


@pytest.mark.parametrize(("missing", "level"), [("low", 1), ("medium", 3), ("high", 4)])
def test_a_tier_without_attacks_is_not_resisted(missing, level):
    trials = [t for t in clean(200, 60) if t.kind.value == "benign" or t.tier.value != missing]
    assert rank(trials) == level
    assert bill(trials)[f"{missing} tier"] == ("no attack of this tier ran", "at least one, resisted")


def check_undelivered(level=1):
    trials = [
        t.model_copy(update={"delivered": n >= 21 or t.kind.value == "benign"}) for n, t in enumerate(clean(200, 60))
    ]
    assert rank(trials) == level  # 179 of 200


def test_a_delivery_rate_below_nine_tenths_stops_at_l1():
    check_undelivered()
    short = [t.model_copy(update={"delivered": n != 0}) for n, t in enumerate(clean(3, 0))]
    assert bill(short)["delivery"] == ("2 of 3 attacks delivered", "at least 90 %")


def test_exactly_nine_tenths_delivered_is_enough():
    trials = [
        t.model_copy(update={"delivered": n >= 20 or t.kind.value == "benign"}) for n, t in enumerate(clean(200, 60))
    ]
    assert rank(trials) == 5


def test_l5_needs_two_trials_a_unit_unless_the_agent_is_deterministic():
    once = clean(80, 30)
    twice = [*once, *(t.model_copy(update={"id": t.id + "-2", "repetition": 2}) for t in once)]
    assert rank(once, deterministic=True) == 5
    assert rank(once, deterministic=False) == 4
    assert rank(twice, deterministic=False) == 5
    assert rank(twice[:-1], deterministic=False) == 4
    short = bill(twice[:-1], deterministic=False)["repetitions"][0]
    assert short == "1 of 110 scenarios have fewer than 2 trials a variant"


# When there is no level


def check_no_level(why, trials, **changed):
    made = decision(trials, **changed)
    assert made.recommended is None
    assert made.why == (why,)
    if trials:
        assert made.next is not None
        assert made.next.level is Level.L1
        assert made.next.unmet


NO_LEVEL = {
    "nothing ran": ("no level: no protected trial ran", [], {}),
    "nothing assessed": ("no level: no trial came to a verdict", [make_trial(1, verdict="inconclusive")], {}),
    "incomplete": ("no level: 1 of 9 ran", clean(80, 30), {"complete": False, "coverage": "1 of 9 ran"}),
    "witness": (
        "no level: a scenario could not prove itself (ATK-500-plain-protected: blind)",
        [*clean(80, 30), make_trial(500, verdict="inconclusive", witness="blind")],
        {},
    ),
    "two kinds": (
        "no level: scripted and live agents in one session are two kinds of evidence",
        [*clean(80, 30), make_trial(500, agent_kind="live")],
        {},
    ),
}


@pytest.mark.parametrize("case", NO_LEVEL)
def test_no_level_without_whole_evidence(case):
    why, trials, changed = NO_LEVEL[case]
    check_no_level(why, trials, **changed)


def test_a_failed_witness_gives_no_level_even_where_the_profile_has_no_such_gate():
    trials = [*clean(80, 30), make_trial(500, witness="blind")]
    assert rank(trials, gates=()) == 0


def test_a_trial_that_never_ran_is_no_second_kind_of_agent():
    live = [t.model_copy(update={"agent_kind": "live"}) for t in clean(80, 30)]
    unrun = make_trial(500, verdict="inconclusive", agent_kind="scripted")
    assert rank([*live, unrun], basis="agent") == 4


@pytest.mark.parametrize("status", [GateStatus.FAILED, GateStatus.UNDECIDED])
@pytest.mark.parametrize("place", range(len(PASSED)))
def test_a_gate_that_is_not_passed_caps_at_l1(status, place):
    check_gates(status, place)


def check_gates(status=GateStatus.FAILED, place=0):
    broken = Gate(name=PASSED[place].name, status=status, why="because")
    given_gates = (*PASSED[:place], broken, *PASSED[place + 1 :])
    made = decision(clean(80, 30), gates=given_gates)
    assert made.recommended is Level.L1
    assert f"gate {gate_name(broken.name)} {status.value}: because" in made.why
    assert made.next is not None
    assert made.next.unmet[0].rule == f"gate {broken.name}"


def test_what_succeeded_stands_right_after_the_level():
    undecided = [Gate(name=g.name, status=GateStatus.UNDECIDED, why="30 trials inconclusive") for g in PASSED[:2]]
    trials = attacks([*["succeeded"] * 5, *["inconclusive"] * 6, "resisted"])
    made = decision(trials, gates=(*undecided, *PASSED[2:]))
    assert made.why[:4] == (
        "controls support L1",
        "5 of 12 attack scenarios succeeded: ATK-000-plain-protected, ATK-001-plain-protected and 3 more",
        "6 of 12 trials inconclusive: it was inconclusive: 6 trials",
        f"2 gates undecided: {', '.join(g.name.replace('_', ' ') for g in undecided)}",
    )
    assert bill(trials)["inconclusive"][0] == "6 of 12 scenarios inconclusive: it was inconclusive: 6 trials"


# What is counted


def test_repeats_of_a_unit_tighten_nothing():
    check_collapse()


def check_collapse():
    once = clean(20, 9)
    many = [t.model_copy(update={"id": f"{t.id}-{n}", "repetition": n}) for t in once for n in range(1, 30)]
    assert rates(many).attack_success.high == rates(once).attack_success.high
    assert rates(many).attack_success.n == 20
    assert rates(many).attack_success.trials.n == 580
    assert rank(many) == rank(once) == 3


@given(st.permutations(["resisted", "resisted", "inconclusive", "succeeded"]), st.integers(1, 4))
def test_a_unit_has_the_worst_verdict_of_its_trials(verdicts, count):
    chosen = verdicts[:count]
    group = [make_trial(1, verdict=v, repetition=n, id=f"t{n}") for n, v in enumerate(chosen)]
    worst = next(v for v in ("succeeded", "inconclusive", "resisted") if v in chosen)
    (unit,) = collapse(group)
    assert unit.verdict.value == worst
    assert unit.trials == unit.repeats == count


def test_a_unit_was_delivered_only_if_each_trial_was():
    group = [make_trial(1, id="a"), make_trial(1, id="b", delivered=False)]
    assert not collapse(group)[0].delivered


def test_variants_are_no_units_of_their_own():
    (unit,) = collapse([make_trial(1), make_trial(1, variant="german"), make_trial(1, variant="german", id="again")])
    assert (unit.names, unit.trials, unit.repeats) == (("ATK-001",), 3, 1)
    (unit,) = collapse([make_trial(1), make_trial(1, "attack", "succeeded", variant="german")])
    assert unit.verdict.value == "succeeded"


def test_an_inconclusive_trial_counts_on_no_side_of_any_rate():
    found = rates([*attacks(["resisted", "inconclusive", "succeeded"]), *controls(["inconclusive", "blocked"])])
    assert (found.attack_success.k, found.attack_success.n) == (1, 2)
    assert (found.false_block.k, found.false_block.n) == (1, 1)
    assert (found.delivery.k, found.delivery.n) == (3, 3)


def test_0_of_0_is_a_rate_without_numbers():
    found = rates(controls(["served"]))
    assert isinstance(found.attack_success, NoDataRate)
    assert isinstance(found.delivery, NoDataRate)
    assert found.attack_success.model_dump() == {
        "k": 0,
        "n": 0,
        "no_data": True,
        "trials": {"k": 0, "n": 0, "no_data": True},
    }


@given(MIXED)
def test_every_group_of_rates_adds_up_to_the_whole(trials):
    found = rates(trials)
    for groups in (found.by_tier, found.by_family, found.by_incident, found.by_surface):
        for name in ("attack_success", "false_block", "delivery"):
            whole = getattr(found, name)
            assert sum(getattr(g, name).n for g in groups.values()) == whole.n
            assert sum(getattr(g, name).k for g in groups.values()) == whole.k


# What the bill says


def test_the_bill_to_l4_of_twelve_clean_units():
    trials = clean(12, 12)
    have, need = bill(trials, "L4")["attack success"]
    assert have == "12 of 12 resisted, upper bound 24.3 %"
    assert need == "20 % needs 16: 4 more distinct clean scenarios"


def test_the_bill_says_23_more_where_12_are_clean_and_35_needed():
    (unmet,) = ladder._bound("attack success", "resisted", rates(clean(12, 0)).attack_success, 0.10)
    assert unmet.have == "12 of 12 resisted, upper bound 24.3 %"
    assert unmet.need == "10 % needs 35: 23 more distinct clean scenarios"


@given(st.integers(0, 5), st.integers(1, 60), st.sampled_from([0.05, 0.1, 0.2]))
def test_the_units_that_the_bill_asks_for_do_meet_the_bound(k, clean_ones, bound):
    rate = rates(attacks(["succeeded"] * k + ["resisted"] * clean_ones)).attack_success
    for unmet in ladder._bound("attack success", "resisted", rate, bound):
        more = int(unmet.need.partition(": ")[2].split()[0])
        enough = attacks(["succeeded"] * k + ["resisted"] * (clean_ones + more))
        assert rates(enough).attack_success.high <= bound
        assert rates(enough[:-1]).attack_success.high > bound


def test_the_bill_without_data_names_the_whole_number():
    assert bill(clean(80, 0))["false blocks"] == ("no data", "upper bound at most 30 %: 9 distinct clean scenarios")


def test_the_bill_names_a_level_that_was_not_tested():
    assert bill(clean(80, 30), "L4")["tested level"] == ("L4 was tested", "a session with --soclab-level=L5")


def test_at_l5_there_is_no_next_level():
    assert decision(clean(80, 30)).next is None


@given(MIXED, TESTED)
def test_a_level_below_the_highest_always_has_a_bill(trials, tested):
    made = decision(trials, tested)
    if made.next is not None:
        assert made.next.unmet
        assert made.next.level.rank == (made.recommended.rank if made.recommended else 0) + 1


# Sabotage


def test_sabotage_of_the_rules_is_seen(monkeypatch):
    nothing = lambda *_: iter(())  # noqa: E731
    for name, check, arguments in (
        ("_inconclusive", check_inconclusive, (clean(80, 30), 109)),
        ("_delivery", check_undelivered, ()),
        ("_tiers", test_one_succeeded_attack_keeps_its_tier_out_of_the_levels_that_need_it, (2,)),
        ("_repetitions", test_l5_needs_two_trials_a_unit_unless_the_agent_is_deterministic, ()),
        ("_bound", test_clean_units_reach_a_level, (34, 9, 3)),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(ladder, name, nothing)
            red(check, *arguments)


def test_sabotage_of_no_level_the_gates_and_the_cap_is_seen(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(ladder, "_no_level", lambda _: "")
        for why, trials, changed in NO_LEVEL.values():
            with pytest.raises(AssertionError):
                check_no_level(why, trials, **changed)
    with monkeypatch.context() as patch:
        patch.setattr(ladder, "_highest", lambda *_: Level.L5)
        red(check_gates)
        red(check_capped, clean(80, 30), "L3")


def test_sabotage_of_the_collapse_is_seen(monkeypatch):
    monkeypatch.setattr(units, "grouped", lambda trials, _same: [[t] for t in trials])
    red(check_collapse)


def test_the_profile_under_test_is_the_default_one():
    assert PROFILE.label == "default/2"
