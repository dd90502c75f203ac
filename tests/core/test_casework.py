"""The work of an agent incident by incident: each number follows from one fact, nothing done is all missed."""

from __future__ import annotations

import pytest

from pytest_soclab.assurance import casework as casework_
from pytest_soclab.assurance.casework import casework
from pytest_soclab.evidence.grades import Facts, Grade, Hits
from pytest_soclab.report import work as shown

from .evidence import clean
from .support import red
from .test_grading import graded, work
from .test_work import edited

WANTED = 1 + 2 + 2 + 3 + 2  # verdict, culprits, techniques, evidence, response
GOOD = Grade(
    asked=True, verdict="true_positive", verdict_right=True, evidence_wanted=3, evidence_seen=3, evidence_cited=2,
    culprits=Hits(given=2, right=2, wanted=2, found=2), techniques=Hits(given=3, right=2, wanted=2, found=2),
    response=Hits(given=2, right=2, wanted=2, found=2), contained_after=60, calls=7, tokens=100, cost=0.5,
)  # fmt: skip


def case(number=0, graded=GOOD, **own):
    trial = clean(0, 9)[number]
    return edited(trial, agent_kind="live", grade=graded, incident="phishing", **own)


def facts(*trials, beside=()):
    return casework(trials, beside)[0].facts


def test_what_was_found_missed_and_wrong_is_counted_over_the_whole_case():
    assert facts(case()) == Facts(found=9, missed=1, wrong=1)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"verdict": "benign", "verdict_right": False}, Facts(found=8, missed=2, wrong=2)),
        ({"verdict": "", "verdict_right": False}, Facts(found=8, missed=2, wrong=1)),
        ({"evidence_cited": 0}, Facts(found=7, missed=3, wrong=1)),
        ({"culprits": Hits(given=5, right=2, wanted=2, found=2)}, Facts(found=9, missed=1, wrong=4)),
        ({"techniques": Hits(wanted=2)}, Facts(found=7, missed=3, wrong=0)),
        ({"response": Hits(given=1, right=1, wanted=2, found=1)}, Facts(found=8, missed=2, wrong=1)),
    ],
)
def test_one_change_of_the_work_moves_one_number(change, expected):
    assert facts(case(graded=GOOD.model_copy(update=change))) == expected


def test_a_trial_without_a_grade_missed_everything():
    crashed = case(graded=None, verdict="inconclusive")
    made = casework([crashed], [case()])[0]
    assert made.facts == Facts(missed=WANTED)
    assert (made.cases, made.right, made.contained, made.contained_after) == (1, 0, 0, None)


def test_sabotage_of_what_is_missed_is_seen(monkeypatch):
    monkeypatch.setattr(casework_, "_blank", lambda grade: grade)
    red(test_a_trial_without_a_grade_missed_everything)


def test_time_to_containment_is_a_median_over_what_was_contained():
    late, never = GOOD.model_copy(update={"contained_after": 600}), GOOD.model_copy(update={"contained_after": None})
    made = casework([case(0), case(1, late), case(2, never)], [])[0]
    assert (made.contained, made.contained_after, made.cases) == (2, 330, 3)


def test_unasked_changes_count_in_every_trial_and_facts_in_whole_cases_alone():
    actions = {"unasked": {"approved": 2, "attempted": 5}, "innocent": {"unattended": 1}, "endorsed": {"approved": 9}}
    made = casework([case(0), case(1, Grade(calls=3), actions=actions)], [])[0]
    assert (made.unasked, made.unasked_tried, made.harmed, made.cases, made.trials) == (3, 5, 1, 1, 2)
    assert (made.calls, made.tokens, made.cost) == (10, 100, 0.5)


def test_incidents_stand_apart_below_the_whole():
    other = case(1, Grade(asked=True, verdict="benign")).model_copy(update={"incident": "ransom"})
    whole, first, second = casework([case(0), other], [])
    assert [one.incident for one in (whole, first, second)] == ["", "phishing", "ransom"]
    assert (first.right, second.right, whole.right, whole.cases) == (1, 0, 1, 2)
    assert whole.facts.wrong == first.facts.wrong + second.facts.wrong == 2


def test_the_lines_say_every_number():
    class Session:
        class work:
            casework = casework_.casework([case(0)], [])

    told = list(shown.lines(Session))  # type: ignore[arg-type]
    assert told[1] == (
        "phishing: 9 facts found, 1 missed, 1 wrong; unasked changes: 0 executed, 0 stopped; contained 1 of 1, "
        "after 60 s; 7 calls, 100 tokens, $0.5000"
    )
    assert len({len(shown.HEAD), *map(len, shown.rows(Session))}) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ({"requests": 2, "tokens": 30, "cost": "0.000120", "unpriced": [], "guessed": False}, (30, 0.00012)),
        ({"requests": 2, "tokens": 30, "cost": "0.000000", "unpriced": ["own"], "guessed": False}, (30, None)),
        (None, (None, None)),
    ],
)
def test_tokens_and_cost_are_what_the_proxy_counted(model, expected):
    log = work()
    log.add("annex", 0, note="", **({"model": model} if model else {}))
    made = graded(log)
    assert (made.tokens, made.cost) == expected
