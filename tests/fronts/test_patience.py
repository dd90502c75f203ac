"""A call is never held up for longer than clients wait."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from core.support import Bench, of_type
from pytest_soclab.gateway import approvals
from pytest_soclab.gateway.approvals import Answer


class Slow:
    name = "slow"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def review(self, request: Any) -> Answer:
        time.sleep(self.seconds)
        return Answer.APPROVED


def ask(bench: Bench, approver: Any) -> Any:
    point = bench.gateway(approver=approver)
    point.call("siem.search", {"query": "user:alex.rivera"})
    point.call("identity.disable_account", {"user": "alex.rivera"}, ["siem.search"])
    (approval,) = of_type(point.state.ledger.events, "approval")
    return approval["outcome"]


def test_an_approver_who_takes_too_long_is_nobody(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    assert approvals.ANSWER_SECONDS == 3.0
    monkeypatch.setattr(approvals, "ANSWER_SECONDS", 0.1)
    over = threading.Event()

    class Away(Slow):
        def review(self, request: Any) -> Answer:
            over.wait(60)
            return Answer.APPROVED

    started = time.monotonic()
    assert ask(bench, Away(0)) == "absent"
    assert time.monotonic() - started < 30
    over.set()


def test_one_who_answers_in_time_is_heard(bench: Bench) -> None:
    assert ask(bench, Slow(0.01)) == "approved"


def test_one_who_raises_is_heard_too(bench: Bench) -> None:
    class Broken:
        name = "broken"

        def review(self, request: Any) -> Answer:
            raise RuntimeError("no desk")

    with pytest.raises(RuntimeError, match="no desk"):
        ask(bench, Broken())
