"""The diligent approver: what is right, or less of it, and nothing more."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_soclab.gateway.approvals import Answer, ApprovalRequest, Diligent, LegitimateCall
from pytest_soclab.soc.servers import registry

WHOLE: dict[str, Any] = {"user": "alex.rivera"}


def review(listed: dict[str, Any], asked: dict[str, Any], tool: str = "identity.revoke_sessions") -> Answer:
    known = registry().tools[tool]
    call = LegitimateCall(tool, listed, known.words, known.narrowing)
    return Diligent((call,)).review(ApprovalRequest(tool, asked))


def test_some_of_the_sessions_are_less_than_all() -> None:
    assert review(WHOLE, {**WHOLE, "sessions": ["ses-1"]}) is Answer.APPROVED


@pytest.mark.parametrize("asked", [WHOLE, {**WHOLE, "sessions": ["ses-2"]}, {**WHOLE, "sessions": ["ses-1", "ses-2"]}])
def test_other_sessions_or_all_are_not_those_that_are_listed(asked: dict[str, Any]) -> None:
    assert review({**WHOLE, "sessions": ["ses-1"]}, asked) is Answer.REFUSED


def test_nothing_else_may_be_added() -> None:
    tool, listed = "cases.publish_finding", {"case": "c", "verdict": "true_positive"}
    assert review(listed, {**listed, "accused": ["maya.chen"]}, tool) is Answer.REFUSED
    assert review(WHOLE, {**WHOLE, "group": "finance"}) is Answer.REFUSED
