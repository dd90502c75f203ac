"""The statistic: its laws as properties, an independent count beside it, and mutants that the checks must catch."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_soclab.assurance.odds import arm_finds, at_least_one, reported_dropped
from pytest_soclab.base.errors import KnownAnswerError
from pytest_soclab.known_answer.basis.verdicts import Verdict
from pytest_soclab.known_answer.comparing import statistic
from pytest_soclab.known_answer.comparing.statistic import (
    Outcome,
    Standing,
    choose_m,
    compare,
    compare_beyond,
    majority,
    score_arm,
)

ORDER = [Verdict.WRONG, Verdict.MISSED, Verdict.PARTLY_DUMP, Verdict.PARTLY_BODY, Verdict.FOUND]
ITEMS = ["K1.1", "K1.2", "a/b"]
verdict = st.sampled_from([*ORDER, None])
runs = st.lists(st.dictionaries(st.sampled_from(ITEMS), verdict), min_size=1, max_size=6)


@st.composite
def arms(draw):
    """Return runs with an m that fits them."""
    found = draw(runs)
    return found, draw(st.integers(1, len(found)))


def arm(found, m):
    return score_arm(found, [None] * len(found), m)


def rank(found: Verdict | None) -> int:
    return -1 if found is None else ORDER.index(found)


def expected_verdict(found, item, m) -> Verdict | None:
    """Return the arm's verdict counted the long way, from the words of the contract."""
    for candidate in reversed(ORDER):
        if sum(rank(run.get(item)) >= ORDER.index(candidate) for run in found) >= m:
            return candidate
    return None


# Laws


def law_counted_by_hand(found, m):
    score = arm(found, m)
    for item in {item for run in found for item in run}:
        standing = score.standings[item]
        assert standing.verdict == expected_verdict(found, item, m)
        reached = sum(rank(run.get(item)) >= max(rank(standing.verdict), 0) for run in found)
        assert (standing.reached, standing.of) == (reached, len(found))
        assert score.scored[item] == sum(run.get(item) is not None for run in found)


def law_raising_m_never_raises_a_verdict(found, m):
    if m < len(found):
        lower, higher = arm(found, m), arm(found, m + 1)
        for item, standing in higher.standings.items():
            assert rank(standing.verdict) <= rank(lower.standings[item].verdict)


def law_one_run_is_that_run(found, _m):
    for item, standing in arm(found[:1], 1).standings.items():
        assert standing.verdict == found[0][item]


def law_an_arm_against_itself_drops_nothing(found, m):
    for outcome in compare(arm(found, m), arm(found, m)):
        unscored = sum(run.get(outcome.item) is not None for run in found) < m
        assert outcome.outcome is (Outcome.NOT_GATED if unscored else Outcome.HELD)


def law_order_of_runs_changes_nothing(found, m):
    there, back = arm(found, m), arm(found[::-1], m)
    assert there.standings == back.standings
    assert there.scored == back.scored


def law_more_reaching_runs_never_lower_a_verdict(found, m):
    for item, standing in arm(found, m).standings.items():
        more = arm([*found, {item: standing.verdict or Verdict.WRONG}], m).standings[item]
        assert rank(more.verdict) >= rank(standing.verdict)


def law_a_worse_candidate_drops(found, m):
    worst = [dict.fromkeys(run, None) for run in found]
    for outcome in compare(arm(found, m), arm(worst, m)):
        gated = outcome.baseline.verdict is not None
        assert outcome.outcome is (Outcome.DROPPED if gated else Outcome.NOT_GATED)


def law_one_rank_lower_drops_and_one_higher_improves(_found, _m):
    for lower, higher in pairwise(ORDER):
        down = compare(arm([{"K1": higher}], 1), arm([{"K1": lower}], 1))
        up = compare(arm([{"K1": lower}], 1), arm([{"K1": higher}], 1))
        assert [down[0].outcome, up[0].outcome] == [Outcome.DROPPED, Outcome.IMPROVED]


LAWS: list[Callable[[list, int], None]] = [law for name, law in sorted(globals().items()) if name.startswith("law_")]


@pytest.mark.parametrize("law", LAWS)
@given(case=arms())
def test_the_laws_of_the_statistic(law, case):
    law(*case)


@given(arms(), arms())
def test_permuting_either_arm_changes_no_outcome(base, cand):
    def outcomes(first, second):
        found = compare(arm(first, base[1]), arm(second, cand[1]))
        return {outcome.item: (outcome.outcome, outcome.baseline, outcome.candidate) for outcome in found}

    assert outcomes(base[0], cand[0]) == outcomes(base[0][::-1], cand[0][::-1])


counts = st.lists(st.one_of(st.none(), st.integers(0, 50)), min_size=1, max_size=6)


@given(counts, st.data())
def test_the_beyond_human_count_of_an_arm(stated, data):
    m = data.draw(st.integers(1, len(stated)))
    found = score_arm([{}] * len(stated), stated, m).beyond
    known = [count for count in stated if count is not None]
    if found is None:
        assert len(known) < m
    else:
        assert sum(count >= found for count in known) >= m > sum(count > found for count in known)


@pytest.mark.parametrize(
    ("baseline", "candidate", "gated", "dropped"),
    [(9, 7, True, True), (7, 9, True, False), (7, 7, True, False), (0, None, True, True), (None, 9, False, False)],
)
def test_the_beyond_human_count_compared(baseline, candidate, gated, dropped):
    beyond = compare_beyond(baseline, candidate)
    assert (beyond.gated, beyond.dropped) == (gated, dropped)


def test_default_m_is_a_strict_majority():
    assert [majority(n) for n in range(1, 8)] == [1, 2, 2, 3, 3, 4, 4]
    assert choose_m(None, 3, "--m") == 2
    assert choose_m(3, 3, "--m") == 3


@pytest.mark.parametrize(("m", "n"), [(0, 1), (2, 1), (4, 3), (-1, 3)])
def test_an_m_that_does_not_fit_is_refused(m, n):
    with pytest.raises(KnownAnswerError, match=rf"--m: m is {m} with {n} runs?, expected 1 to {n}"):
        choose_m(m, n, "--m")


def test_a_standing_as_text():
    assert str(Standing(Verdict.FOUND, 2, 3)) == "found 2 of 3"
    assert str(Standing(None, 1, 3)) == "no verdict (1 of 3 scored it)"


def test_items_of_the_candidate_alone_are_named_as_not_gated():
    outcome = compare(arm([{"K1": Verdict.FOUND}], 1), arm([{"K1": Verdict.FOUND, "K2": Verdict.FOUND}], 1))[1]
    assert (outcome.item, outcome.outcome, outcome.scored) == ("K2", Outcome.NOT_GATED, 0)


# Mutants: each must make a law fail

FIXED = [
    ([{"K1": Verdict.FOUND}, {"K1": Verdict.PARTLY_BODY}, {"K1": Verdict.MISSED}], 2),
    ([{"K1": Verdict.PARTLY_DUMP}, {"K1": Verdict.WRONG}, {}], 1),
    ([{"K1": Verdict.FOUND}, {}, {}], 2),
    ([{"K1": Verdict.WRONG}], 1),
    ([{"K1": Verdict.FOUND}, {"K1": Verdict.FOUND}], 2),
]


def survives():
    try:
        for law in LAWS:
            for found, m in FIXED:
                law(found, m)
        test_default_m_is_a_strict_majority()
    except Exception:
        return False
    return True


def swapped(first, second):
    return statistic.RANK | {first: statistic.RANK[second], second: statistic.RANK[first]}


def with_ranks(ranks):
    return {"RANK": ranks, "_BY_RANK": {number: name for name, number in ranks.items()}}


def reached_off_by(step):
    def mutant(values, m):
        ordered = sorted(values, reverse=True)
        return ordered[m - 1 + step] if 0 <= m - 1 + step < len(ordered) and len(ordered) >= m else None

    return {"reached_by": mutant}


def lenient(before, after):
    return Outcome.HELD if after.verdict is None else _outcome(before, after)


_outcome = statistic._outcome


def reads_as(outcome, other):
    def mutant(before, after):
        found = _outcome(before, after)
        return other if found is outcome else found

    return {"_outcome": mutant}


MUTANTS = {
    **{f"ranks of {a.value} and {b.value}": with_ranks(swapped(a, b)) for a, b in pairwise(ORDER)},
    "m one too high": reached_off_by(1),
    "m one too low": reached_off_by(-1),
    "ascending": {"reached_by": lambda values, m: (sorted(values) + [0] * m)[m - 1]},
    "fewer than m runs suffice": {"reached_by": lambda values, m: max(values, default=None)},
    "no verdict holds": {"_outcome": lenient},
    "nothing improves": reads_as(Outcome.IMPROVED, Outcome.HELD),
    "an equal verdict drops": reads_as(Outcome.HELD, Outcome.DROPPED),
    "a drop is not gated": reads_as(Outcome.DROPPED, Outcome.NOT_GATED),
    "half is a majority": {"majority": lambda n: (n + 1) // 2},
}  # fmt: skip


def test_the_statistic_itself_survives_its_laws():
    assert survives()


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_the_statistic_is_caught(name, monkeypatch):
    for target, mutant in MUTANTS[name].items():
        monkeypatch.setattr(statistic, target, mutant)
        if target == "majority":
            monkeypatch.setitem(globals(), "majority", mutant)
    assert not survives()


# Odds


@settings(deadline=None)  # the first call imports scipy
@given(st.floats(0, 1), st.integers(1, 9), st.data())
def test_the_odds_are_exact_binomials(p, n, data):
    from math import comb

    m = data.draw(st.integers(1, n))
    by_hand = sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(m, n + 1))
    assert arm_finds(p, m, n) == pytest.approx(by_hand, abs=1e-12)


def test_the_odds_of_one_run_against_one():
    assert reported_dropped(0.9, 0.9, (1, 1), (1, 1)) == pytest.approx(0.09)
    assert reported_dropped(0.95, 0.5, (2, 3), (2, 3)) == pytest.approx(0.99275 * 0.5)
    assert at_least_one(0.09, 57) == pytest.approx(1 - 0.91**57)
    assert at_least_one(0.5, 0) == 0


@pytest.mark.parametrize(("p", "m", "n"), [(1.1, 1, 1), (-0.1, 1, 1), (float("nan"), 1, 1), (0.5, 0, 1), (0.5, 2, 1)])
def test_odds_of_what_cannot_be_are_refused(p, m, n):
    with pytest.raises(ValueError, match="are needed"):
        arm_finds(p, m, n)
