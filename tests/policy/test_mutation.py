"""Mutants of a small policy: which there are, and that exactly the unneeded part goes unnoticed."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_soclab.base import resources
from pytest_soclab.base.errors import UsageError
from pytest_soclab.cli import mutate as command
from pytest_soclab.policy.load import source_of
from pytest_soclab.policy.model import PolicySource
from pytest_soclab.policy.mutation import Question, _varied, adequacy, mutants, spread
from pytest_soclab.policy.own_tests import OwnTests

TEXT = """package soclab.gateway

settings := data.soclab.settings

reasons contains "level" if not enough

enough if {
	input.level >= 3
	input.tool.change in settings.allowed
}

obligations contains "redact" if input.level < 9

decision := {"outcome": "deny", "reasons": [r | some r in reasons], "obligations": []} if count(reasons) > 0

decision := {"outcome": "allow", "reasons": [], "obligations": [o | some o in obligations]} if count(reasons) == 0
"""


def small(text: str = TEXT) -> PolicySource:
    return source_of("small", {"p.rego": text}, {"soclab": {"settings": {"allowed": ["a", "b"]}}})


def question(level: int, change: str) -> Question:
    document: dict[str, Any] = {"level": level, "tool": {"change": change}}
    return Question(document)


ALL = [question(level, change) for level in (2, 3, 4, 8, 9) for change in ("a", "b", "c")]


def test_every_sort_of_change_is_made() -> None:
    made = {(mutant.place, mutant.change) for mutant in mutants(small())}
    assert ("p.rego:8", "the condition `input.level >= 3` is gone") in made
    assert ("p.rego:8", "`input.level >= 3` is inverted") in made
    assert ("p.rego:8", "3 is 4") in made
    assert ("p.rego:8", ">= is >") in made
    assert ("p.rego:12", "the rule obligations is gone") in made
    assert ("p.rego:5", "`not enough` is inverted") in made
    assert ("data: soclab.settings.allowed", "'b' is no longer listed") in made


def test_what_runs_unattended_is_widened() -> None:
    source = source_of("small", {"p.rego": TEXT}, {"soclab": {"settings": {"unattended": {"changes": ["a"]}}}})
    made = [mutant.change for mutant in mutants(source, ["a", "z"])]
    assert made.count("z may run unattended") == 1
    assert "a may run unattended" not in made


def test_questions_that_reach_everything_notice_everything() -> None:
    found = adequacy(small(), ALL)
    assert [(mutant.place, mutant.change) for mutant in found.survivors] == []
    assert found.noticed > 10
    assert found.share == 1.0


def test_what_no_question_asks_about_goes_unnoticed() -> None:
    found = adequacy(small(), [one for one in ALL if one.input["tool"]["change"] != "b"])
    assert [mutant.change for mutant in found.survivors] == ["'b' is no longer listed"]


def test_no_time_is_no_success() -> None:
    found = adequacy(small(), ALL, seconds=-1)
    assert (found.noticed, found.share) == (0, 0.0)
    assert found.untried > 10


def test_a_sample_reaches_from_the_first_to_the_last_mutant() -> None:
    every = list(mutants(small()))
    chosen = spread(every, 5)
    places = [every.index(mutant) for mutant in chosen]
    assert places == sorted(set(places))
    assert len(places) == 5
    assert places[0] == 0
    assert places[-1] >= len(every) * 3 // 4
    assert spread(every, 0) == spread(every, len(every) + 1) == every
    found = adequacy(small(), ALL, sample=5)
    assert found.noticed + found.invalid == 5


def test_reach_is_asked_at_l5_too_and_once_a_tool_below(monkeypatch: pytest.MonkeyPatch) -> None:
    document = {"tool": {"name": "a"}, "level": 4}
    monkeypatch.setattr(command, "ground_of", lambda *given: None)
    monkeypatch.setattr(command, "questions", lambda *given: [("call", document), ("another", document)])
    lab: Any = SimpleNamespace(incident=lambda path: (), registry=None, level=None)
    incidents = len(list((resources.scenarios() / "incidents").glob("*.yaml")))
    asked = Counter(one.input["level"] for one in command._reached(lab, frozenset()))
    assert asked == {4: 2 * incidents, 5: 2 * incidents, 1: 1, 2: 1, 3: 1}


def test_every_sort_of_question_is_asked_before_any_comes_twice() -> None:
    asked = [(question(level, "a"), None) for level in (2, 2, 2)] + [(Question({"tool": {"name": "b"}}), None)]
    assert [at for at, (one, _) in enumerate(_varied(asked)) if one.input["tool"].get("name") == "b"] == [1]


TESTS = """package soclab.gateway_test

test_level if data.soclab.gateway.decision.outcome == "deny" with input as {"level": 2, "tool": {"change": "a"}}
test_allowed if data.soclab.gateway.decision.outcome == "allow" with input as {"level": 4, "tool": {"change": "a"}}
"""


@pytest.fixture
def folder(tmp_path):
    def write(tests: str) -> PolicySource:
        (tmp_path / "p.rego").write_text(TEXT)
        (tmp_path / "p_test.rego").write_text(tests)
        return source_of(str(tmp_path), {"p.rego": TEXT}, {"soclab": {"settings": {"allowed": ["a", "b"]}}})

    return write


def test_the_policys_own_tests_notice_what_no_question_does(folder, opa) -> None:
    source = folder(TESTS)
    tests = OwnTests(opa, source)
    with_tests = adequacy(source, [], own_tests=tests.notice)
    assert with_tests.by_tests == with_tests.noticed > 0
    assert adequacy(source, []).noticed == 0
    left = {mutant.change for mutant in with_tests.survivors}
    assert "'b' is no longer listed" in left  # no test speaks of it
    assert "the rule reasons is gone" not in left


def test_tests_that_do_not_pass_say_nothing_of_mutants(folder, opa) -> None:
    with pytest.raises(UsageError, match="do not pass"):
        OwnTests(opa, folder(TESTS.replace('"deny"', '"allow"')))


def test_a_policy_without_tests_is_told_so(folder, tmp_path, opa) -> None:
    source = folder(TESTS)
    (tmp_path / "p_test.rego").unlink()
    with pytest.raises(UsageError, match="leave --own-tests out"):
        OwnTests(opa, source)
