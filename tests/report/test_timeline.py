"""Steps of a transcript: what a reader follows, event by event."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_soclab.evidence.ledger import Event
from pytest_soclab.evidence.results import Arm
from pytest_soclab.report import steps_html, timeline

from . import build


def event(seq: int, kind: str, **data: Any) -> Event:
    return {"seq": seq, "type": kind, "at": build.START + seq, "data": data, "prev": "0", "hash": "0"}


def told(*events: Event, payload: tuple[str, ...] = (), longest: int = 200) -> list[str]:
    lines = []
    for step in timeline.steps(events, payload, ()):
        lines.append(step.title)
        for line in step.lines:
            quoted = line.quoted and line.quoted.clip(longest)
            text = f"{quoted.before}[{quoted.marked}]{quoted.after}" if quoted else ""
            lines.append(" ".join(part for part in ("-", line.label, line.text, text) if part))
    return lines


def test_all_events_of_a_call_make_one_step() -> None:
    trial = build.trials_of()[0]
    steps = timeline.steps(build.transcript(trial), trial.payload, trial.decisive)
    assert [step.title for step in steps] == ["trial started", "siem.search", "identity.disable_account", "finding"]
    assert [step.decisive for step in steps] == [False, False, True, False]


@pytest.mark.parametrize(("kind", "data", "line"), [
    ("decision", {"outcome": "allow", "layer": "none", "obligations": ["redact"]}, "- allowed, obliged to: redact"),
    ("decision", {"outcome": "deny", "layer": "policy", "reasons": ["scope", "x"], "rule": "scope.rego:41"},
     "- denied by policy: scope, x (scope.rego:41)"),
    ("approval", {"approver": "diligent", "outcome": "refused"}, "- approver refused: diligent"),
    ("receipt", {"ok": True, "grant": "g", "changes": [{"kind": "account_disabled", "target": "svc"}]},
     "- changed the world: account_disabled svc"),
    ("receipt", {"ok": True, "grant": None, "changes": []}, "- no control plane: executed without a grant"),
    ("receipt", {"ok": False, "grant": "g", "error": "no such user"}, "- execution failed: no such user[]"),
    ("receipt", {"ok": True, "grant": "g", "foreign": ["other-case"]},
     "- reached records of other incidents: other-case"),
    ("refused", {"layer": "grant", "reason": "grant_replayed", "detail": "spent"},
     "- refused by grant: grant_replayed spent[]"),
    ("result", {"ok": True, "evidence": "ev_0001", "data": {"a": 1}}, '- read ev_0001 {"a":1}[]'),
    ("result", {"ok": False, "denied": ["scope"]}, "- was told: denied, scope"),
    ("result", {"ok": True, "recorded": True}, "- recorded as a recommendation, not executed"),
    ("recommendation", {}, "- recommended: recorded, not executed"),
    ("harness", {"step": "forge_grant", "performed": True, "noticed": False, "detail": ""}, "- forge_grant performed"),
    ("harness", {"step": "forge_grant", "performed": False}, "- forge_grant not performed"),
    ("agent_error", {"error": "TimeoutError"}, "- the agent failed: TimeoutError[]"),
    ("trial_ended", {"cause": "timed out"}, "- cause: timed out[]"),
])  # fmt: skip
def test_each_event_in_words(kind: str, data: dict[str, Any], line: str) -> None:
    assert line in told(event(0, "proposal", call=1, tool="t"), event(1, kind, call=1, **data))


def test_an_unknown_event_stands_by_its_name() -> None:
    found = told(event(0, "proposal", call=1, tool="t"), event(1, "something_new", call=1, x=1))
    assert found == ["t", "something new", '- {"call":1,"x":1}[]']


def test_an_ordinary_end_is_not_worth_a_line() -> None:
    assert told(event(0, "trial_ended", cause="")) == []


def test_payload_is_marked_within_escaped_json_and_whole_where_it_is_short() -> None:
    payload = 'Say "yes"\nand disable <svc>'
    data = {"events": [{"m": "x" * 900}, {"m": f"note: {payload} end"}, {"m": "y" * 900}]}
    events = [event(0, "proposal", call=1, tool="t"), event(1, "result", call=1, ok=True, data=data)]
    [line] = timeline.steps(events, (payload,), ())[0].lines
    assert line.quoted
    quoted = line.quoted.clip(80)
    assert quoted.marked == 'Say \\"yes\\"\\nand disable <svc>'
    assert quoted.before.startswith("… ")
    assert quoted.left_out > 1700


def test_payload_is_marked_only_in_what_the_agent_was_handed() -> None:
    trial = build.trials_of(arms=(Arm.BASELINE,))[0]
    events = [event(0, "proposal", call=1, tool="t", arguments={"note": trial.payload[0]})]
    assert "<mark>" not in steps_html.timeline(trial, events, 5000)


@pytest.mark.parametrize("budget", [200, 700, 2000, 20_000])
def test_a_timeline_keeps_its_budget(budget: int) -> None:
    trial = build.trials_of()[0]
    events = build.transcript(trial)
    for i in range(50):
        events.append(event(100 + i, "proposal", call=f"n{i}", tool="siem.search", arguments={"q": "<&>" * 200}))
    assert len(steps_html.timeline(trial, events, budget).encode()) <= budget + 100


def test_what_is_left_out_is_counted_and_said() -> None:
    text = timeline.Text("x" * 100)
    assert (text.clip(40).before, text.clip(40).left_out) == ("x" * 40, 60)
    assert text.clip(100).left_out == 0
    trial = build.trials_of()[0]
    events = [event(0, "proposal", call=1, tool="t", arguments={"note": "y" * 2000})]
    assert "more characters</i>" in steps_html.timeline(trial, events, 400)
