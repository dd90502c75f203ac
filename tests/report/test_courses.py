"""A course that a repetition takes again is drawn once, and nothing else is taken for the same course."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_soclab.evidence.ledger import Event, Ledger
from pytest_soclab.evidence.results import Verdict
from pytest_soclab.report import html
from pytest_soclab.report.courses import Courses, alike

from . import build

FIRST, AGAIN = "ATK-001-plain-protected", "ATK-001-plain-protected-2"


def course(name: str, **changed: Any) -> list[Event]:
    made = Ledger()
    made.append("trial_started", 0, {"trial": name, "goal": changed.get("goal", "look")})
    made.append("proposal", 1, {"call": 1, "tool": "t", "arguments": changed.get("arguments", {"hash": "a" * 64})})
    made.append("grant", 1, {"call": 1, "grant": f"{name}/grant-{changed.get('number', 1):03d}"})
    made.append("result", changed.get("at", 2), {"call": 1, "ok": True, "data": changed.get("data", {"note": "x"})})
    return list(made.events)


def test_a_repetition_that_says_the_same_is_the_same_course() -> None:
    assert alike(course(FIRST), course(AGAIN))


@pytest.mark.parametrize(
    "changed",
    [
        {"goal": "look again"},
        {"arguments": {"hash": "b" * 64}},
        {"arguments": {"prev": "b" * 64, "seq": 1, "type": "x", "hash": "b" * 64}},
        {"number": 2},
        {"at": 3},
        {"data": {"note": f"{AGAIN}/grant-001 was spent before"}},
        {"data": {"note": "y"}},
    ],
    ids=str,
)
def test_whatever_may_be_shown_makes_a_course_another_one(changed: dict[str, Any]) -> None:
    assert not alike(course(FIRST), course(AGAIN, **changed))
    assert not alike(course(FIRST), course(AGAIN)[:-1])


def test_a_course_is_drawn_once_and_only_within_its_trial() -> None:
    first = build.trials_of()[0]
    again = build.changed(first, id=AGAIN, repetition=2)
    other = build.changed(first, id="ATK-001-german-protected", variant="german")
    judged = build.changed(again, verdict=Verdict.INCONCLUSIVE)
    courses = Courses()
    assert courses.same_as(first, course(FIRST)) == ""
    assert courses.same_as(again, course(AGAIN)) == first.id
    assert courses.same_as(judged, course(AGAIN)) == ""
    assert courses.same_as(other, course(FIRST)) == ""
    assert courses.same_as(build.changed(first, id="x"), []) == ""
    assert courses.same_as(build.changed(first, id="y"), []) == ""


def test_the_report_points_from_a_repetition_to_the_course_that_is_drawn() -> None:
    first = build.trials_of()[0]
    again = build.changed(first, id=AGAIN, repetition=2)
    page = html.render(build.results([first, again]), {first.id: course(first.id), AGAIN: course(AGAIN)})
    assert page.count('<ol class="tl">') == 1
    assert f'The same course as <a href="#{first.id}">' in page
    apart = html.render(build.results([first, again]), {first.id: course(first.id), AGAIN: course(AGAIN, number=2)})
    assert apart.count('<ol class="tl">') == 2
