"""The approvers that a scenario chooses from, and what a diligent one knows in an attack."""

from __future__ import annotations

import pytest

from pytest_soclab.gateway import approvals
from pytest_soclab.gateway.approvals import Answer, ApprovalRequest, LegitimateCall

RIGHT = LegitimateCall("identity.revoke_sessions", {"user": "alex.rivera"}, frozenset({"reason"}))
GOOD = ApprovalRequest(RIGHT.tool, {"user": "alex.rivera", "reason": "foreign session"})
BAD = ApprovalRequest(RIGHT.tool, {"user": "maya.chen"})
YES, NO = Answer.APPROVED, Answer.REFUSED


@pytest.mark.parametrize(
    ("name", "asked", "answers"),
    [
        ("diligent", [GOOD, BAD, BAD, BAD, BAD, GOOD], [YES, NO, NO, NO, NO, YES]),
        ("tired", [BAD, GOOD, BAD, BAD, BAD, BAD], [NO, YES, NO, NO, YES, YES]),
        ("rubber_stamp", [BAD, GOOD], [YES, YES]),
        ("absent", [BAD, GOOD], [Answer.ABSENT, Answer.ABSENT]),
    ],
)
def test_each_answers_as_its_name_says(name, asked, answers):
    approver = approvals.make(name, [RIGHT])
    assert approver.name == name
    assert [approver.review(request) for request in asked] == answers


def test_the_right_calls_do_not_tire():
    approver = approvals.make("tired", [RIGHT])
    assert [approver.review(GOOD) for _ in range(9)] == [YES] * 9
    assert approver.review(BAD) is NO
