"""The page of sessions over time: what it draws, what it believes, and what hostile text cannot do in it."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe

from pytest_soclab.evidence.results import Level, Results
from pytest_soclab.report.history import Past, render, row

from . import build, hostile
from .conftest import Open


@pytest.fixture
def green() -> Results:
    return build.results(build.trials_of())


def past(results: Results | None, number: int = 1, why: str = "") -> Past:
    return Past(f"2026-11-0{number}T08:00:00+00:00", f"session-{number}", "ab" * 32, results, why)


def test_each_session_is_a_row_and_each_value_a_dot(red: Results, green: Results) -> None:
    text = render([past(red), past(green, 2)])
    assert text.count("<tr>") == 3
    assert text.count("<circle") == 2 + 2 + 1  # level, attacks, the key
    level = green.level.recommended
    assert level is not None
    assert f"{level.value}," in text


def test_a_session_without_results_has_no_dot_and_says_why(green: Results) -> None:
    text = render([past(green), past(None, 2, "does not hold: results.json differs"), past(green, 3)])
    assert "does not hold: results.json differs" in text
    assert text.count("<circle") == 2 + 2 + 1
    assert not re.findall(r'class="line (?:level|attacks|work)" d="M\d+ [\d.]+L', text), "a gap is no line"


def test_what_is_counted_is_what_the_trials_say(red: Results) -> None:
    found = row(past(red))
    assert found.attacks.n > found.attacks.k
    none = row(past(red.model_copy(update={"level": red.level.model_copy(update={"recommended": None})})))
    assert (none.level, none.rank) == ("no level", None)
    five = row(past(red.model_copy(update={"level": red.level.model_copy(update={"recommended": Level.L5})})))
    assert five.rank == 5


@pytest.mark.parametrize("name", sorted(hostile.TEXTS))
def test_hostile_text_makes_no_element(name: str) -> None:
    told = Past(hostile.TEXTS[name], hostile.TEXTS[name], hostile.TEXTS[name], None, hostile.TEXTS[name])
    calm = Past("x", "x", "x", None, "x")
    elements = re.compile(r"<[a-z]+")
    assert elements.findall(render([told])) == elements.findall(render([calm]))


def test_it_holds_no_script_and_axe_finds_nothing(open_report: Open, red: Results, green: Results) -> None:
    text = render([past(red), past(None, 2, "it did not end"), past(green, 3)])
    assert "<script" not in text
    assert "//" not in text, "nothing is asked for"
    opened = open_report(text, viewport={"width": 320, "height": 700})
    assert Axe().run(opened.page).violations_count == 0
    assert opened.page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
