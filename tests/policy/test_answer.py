"""Whatever is not exactly the agreed answer is no answer."""

from __future__ import annotations

import pytest

from pytest_soclab.base.errors import PolicyUnavailable
from pytest_soclab.policy.answer import parse_answer
from pytest_soclab.policy.model import Decision, Obligation, PolicyOutcome


def answer(**changed):
    return {"outcome": "allow", "reasons": [], "obligations": ["redact"], **changed}


def test_an_allowance_and_a_denial_are_read():
    assert parse_answer(answer()) == Decision(PolicyOutcome.ALLOW, (), (Obligation.REDACT,))
    denied = parse_answer(answer(outcome="deny", reasons=["b", "a"], obligations=[]))
    assert denied == Decision(PolicyOutcome.DENY, ("a", "b"), ())


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (None, "'None' is no object"),
        (True, "'True' is no object"),
        ("allow", "'allow' is no object"),
        ([], "'[]' is no object"),
        ({}, "found the keys none, expected outcome, reasons, obligations"),
        ({"outcome": "allow"}, "found the keys 'outcome'"),
        (answer(note=1), "found the keys 'note', 'obligations', 'outcome', 'reasons'"),
        (answer(outcome="ALLOW"), "found the outcome 'ALLOW', expected 'allow' or 'deny'"),
        (answer(outcome=True), "found the outcome 'True'"),
        (answer(outcome=["allow"]), "found the outcome"),
        (answer(obligations="redact"), "found obligations 'redact', expected a list of names"),
        (answer(obligations=["redact", 1]), "expected a list of names"),
        (answer(obligations=[""]), "expected a list of names"),
        (answer(obligations={"redact": True}), "expected a list of names"),
        (answer(obligations=["redcat"]), "unknown obligation 'redcat'; did you mean 'redact'? valid: record_only"),
        (answer(reasons=["scope"]), "an allowance with reasons against it: 'scope'"),
        (answer(outcome="deny", obligations=[]), "a denial without a reason"),
        (answer(outcome="deny", reasons=["scope"]), "a denial with obligations: 'redact'"),
    ],
)
def test_anything_else_is_no_answer(found, words):
    with pytest.raises(PolicyUnavailable) as raised:
        parse_answer(found)
    assert words in str(raised.value)
