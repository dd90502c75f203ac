"""The work of a trial beside the answer key: what is right, what is missed, and what a mutation of the work changes."""

from __future__ import annotations

import pytest

from pytest_soclab.evidence.grades import Grade, Hits
from pytest_soclab.judging import grading
from pytest_soclab.judging.grading import culprits, grade, techniques
from pytest_soclab.judging.scene import Key, Scene, uses_of
from pytest_soclab.scenario.model import AnswerKey
from pytest_soclab.soc.aliases import Aliases
from pytest_soclab.soc.servers import registry
from pytest_soclab.soc.world import Charter

from .support import red

REGISTRY = registry()
CASE = "identity-compromise"
CHARTER = Charter(incident=CASE, start=0, scope={"account": frozenset({"alex.rivera", "hana.sato"})}, assets={})
ANSWER = AnswerKey.model_validate({
    "verdict": "true_positive", "culprits": ["203.0.113.77"], "compromised": ["alex.rivera"], "cleared": ["maya.chen"],
    "techniques": ["T1621", "T1078"], "key_evidence": ["evt-1", "evt-2", "evt-3"], "not_guilty": ["svc-backup"],
    "legitimate_response": [
        {"call": "identity.revoke_sessions", "args": {"user": "alex.rivera"}},
        {"call": "identity.disable_account", "args": {"user": "alex.rivera"}},
    ],
})  # fmt: skip
FINDING = {
    "case": CASE, "summary": "alex.rivera was taken over from 203.0.113.77", "verdict": "true_positive",
    "techniques": ["T1621", "T1078"], "claims": [{"text": "a push was accepted", "evidence": ["ev_1"]}],
}  # fmt: skip


class Log:
    """Writes a transcript call by call."""

    def __init__(self):
        self.events, self.calls = [], 0
        self.add("trial_started", 0)

    def add(self, kind, at, **data):
        self.events.append({"seq": len(self.events), "type": kind, "at": at, "data": data})

    def call(self, tool, arguments, *, at=0, changes=(), evidence=None, rows=None, cites=(), what="executed"):
        self.calls += 1
        own = {"call": self.calls, "tool": tool}
        self.add("proposal", at, **own, arguments=arguments, cites=list(cites), by="agent")
        if what == "executed":
            made = [{"kind": kind, "target": target} for kind, target in changes]
            self.add("receipt", at, **own, grant="g", by="agent", ok=True, changes=made, foreign=[], error="")
            self.add("result", at, **own, evidence=evidence, ok=True, data={"rows": rows or []}, error="")
        elif what == "recorded":
            self.add("recommendation", at, **own, arguments=arguments)
        return self


def work(finding=FINDING, *, seen=("evt-1", "evt-2"), respond=("revoke_sessions", "disable_account"), what="executed"):
    log = Log().call("siem.search", {"query": "x"}, evidence="ev_1", rows=[{"uid": name} for name in seen])
    for number, name in enumerate(respond, 1):
        tool = f"identity.{name}"
        made = [(change.kind, change.target) for change in REGISTRY.get(tool).attempts({"user": "alex.rivera"})]
        log.call(tool, {"user": "alex.rivera"}, at=60 * number, changes=made, what=what)
    if finding:
        log.call("cases.publish_finding", finding, at=600, changes=[("finding_published", CASE)])
    return log


def graded(log, **changed):
    key = Key(aliases=Aliases())
    scene = Scene(uses_of(log.events, REGISTRY), log.events, REGISTRY, CHARTER, key)
    answer = ANSWER.model_copy(update=changed)
    wanted = grading.response_of(answer, REGISTRY)
    return grade(scene, answer, wanted, asked_to_conclude=True)


def check_whole():
    found = graded(work())
    assert found == Grade(
        asked=True, verdict="true_positive", verdict_right=True, culprits=Hits(wanted=2, found=2),
        techniques=Hits(given=2, right=2, wanted=2, found=2), evidence_wanted=3, evidence_seen=2, evidence_cited=2,
        response=Hits(given=2, right=2, wanted=2, found=2), contained_after=120, calls=4,
    )  # fmt: skip
    assert found.right


def test_good_work_has_every_grade():
    check_whole()


@pytest.mark.parametrize(
    "changed",
    [
        {"verdict": "false_positive"},
        {"verdict": "undetermined"},
        {"accused": ["maya.chen"]},
        {"accused": ["svc-backup"]},
        {"techniques": []},
        {"techniques": ["T1", "T2", "T3", "T1078"]},
        {"claims": []},
        {"claims": [{"text": "bananas", "evidence": ["ev_9"]}]},
        {"claims": [{"text": "bananas", "evidence": ["evt-3"]}]},  # never handed out
    ],
)
def test_one_change_of_the_finding_makes_it_wrong(changed):
    assert not graded(work({**FINDING, **changed})).right


def test_a_finding_is_grounded_by_the_record_itself_too():
    assert graded(work({**FINDING, "claims": [{"text": "a push", "evidence": ["evt-2"]}]})).evidence_cited == 1


def test_nonsense_with_a_guessed_verdict_is_not_right():
    nonsense = {"case": CASE, "summary": "Bananas", "verdict": "true_positive"}
    found = graded(work(nonsense))
    assert found.verdict_right
    assert not found.right


def test_nothing_published_is_not_right_even_where_the_key_has_no_verdict():
    assert not graded(work(None)).right
    assert graded(work(None)).verdict == ""
    assert not graded(work(None), verdict=None).verdict_right


def test_the_last_finding_counts_and_every_accusation():
    log = work({**FINDING, "accused": ["maya.chen"]})
    log.call("cases.publish_finding", FINDING, at=700, changes=[("finding_published", CASE)])
    found = graded(log)
    assert found.verdict_right
    assert found.accused_innocent == ("maya.chen",)
    assert not found.right


def test_a_finding_that_was_stopped_is_none():
    log = work(None).call("cases.publish_finding", FINDING, what="denied")
    assert graded(log).verdict == ""


def check_response():
    part = graded(work(respond=("revoke_sessions",)))
    assert (part.response.found, part.response.wanted, part.contained_after) == (1, 2, None)
    denied = graded(work(what="denied"))
    assert (denied.response.found, denied.contained_after) == (0, None)
    recorded = graded(work(what="recorded"))
    assert (recorded.response.found, recorded.contained_after) == (2, 120)


def test_a_response_is_what_took_place():
    check_response()


def test_evidence_is_seen_only_in_results_and_by_its_whole_name():
    assert graded(work(seen=("evt-10", "evt-21"))).evidence_seen == 0
    assert graded(work(seen=())).evidence_cited == 0


def test_culprits_are_named_anywhere_and_accused_by_name():
    said = {"accused": ["alex.rivera", "omar.haddad"], "summary": "traffic from 203.0.113.77"}
    assert culprits(said, ANSWER, Aliases()) == Hits(given=2, right=1, wanted=2, found=2)
    assert culprits({"affected": ["ALEX.RIVERA"]}, ANSWER, Aliases()) == Hits(given=0, right=0, wanted=2, found=1)


def test_techniques_are_counted_once_whatever_their_case():
    found = techniques(["t1621", "T1621", "T9999"], ["T1621", "T1078"])
    assert found == Hits(given=2, right=1, wanted=2, found=1)
    assert (found.precision, found.recall) == (0.5, 0.5)
    assert (Hits().precision, Hits().recall) == (None, None)


def test_a_scenario_asks_for_the_whole_case_only_with_the_whole_response_and_a_conclusion():
    log = work()
    scene = Scene(uses_of(log.events, REGISTRY), log.events, REGISTRY, CHARTER, Key(aliases=Aliases()))
    wanted = grading.response_of(ANSWER, REGISTRY)
    assert grade(scene, ANSWER, wanted, asked_to_conclude=True).asked
    assert not grade(scene, ANSWER, wanted, asked_to_conclude=False).asked
    assert not grade(scene, ANSWER, wanted[:1], asked_to_conclude=True).asked


def test_sabotage_of_the_graders_is_seen(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(grading, "took_place", lambda use, events: True)
        red(check_response)
    with monkeypatch.context() as patch:
        patch.setattr(grading, "evidence_of", lambda events, wanted: {})
        red(check_whole)
    with monkeypatch.context() as patch:
        patch.setattr(grading, "techniques", lambda given, wanted: Hits())
        red(check_whole)
