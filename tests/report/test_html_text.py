"""What the page says, in which order, and what it never says; without a browser."""

from __future__ import annotations

import base64
import copy
import hashlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace

import pytest

from pytest_soclab.assurance.profile import load_profile
from pytest_soclab.evidence.ledger import Event
from pytest_soclab.evidence.results import (
    Action,
    ActionState,
    Arm,
    Consent,
    Kind,
    Layer,
    Level,
    Results,
    Trial,
    Verdict,
)
from pytest_soclab.report import causes, html, rungs, sarif, steps_html

from . import build, hostile


def page(record: Results) -> str:
    return html.render(record, build.transcripts(record))


def visible(text: str) -> str:
    body = re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def test_same_record_gives_the_same_bytes(red: Results) -> None:
    assert page(red) == page(Results.model_validate_json(red.model_dump_json()))


def test_answers_come_first_and_in_order(red: Results) -> None:
    text = page(red)
    marks = ["<h1>", 'id="causes"', 'class="ladder"', 'id="stopped"', 'class="figures"', "Not covered", 'id="ladder"',
             'id="bill"', 'id="gates"', 'id="rates"', 'id="matrix"', 'id="work"', 'id="arms"', 'id="known"',
             'id="again"', 'id="trials"']  # fmt: skip
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)


def test_page_says_what_the_record_says(red: Results) -> None:
    text = visible(page(red))
    for said in (
        "L4 failed: the controls support only L1, observe",
        "Five causes explain all 5 red trials.",
        "1 attack got through",
        "20 more distinct clean units",
        "Mandatory gates: 6 of 8 passed",
        "2 a human alone",
        "Expected: stopped by self_blinding Happened: succeeded: nothing stopped it",
        "Without controls : succeeded: nothing stopped it (no control plane)",
        "Of 15 attacks that succeed without a control plane, the control plane stopped 13",
        "Known answers: dropped",
        "found 2 of 3 → partly (body) 3 of 3",
        "denied by policy: protected_asset (protected_asset.rego:41)",
        "argument_schema",  # a rule that decided nothing
    ):
        assert said in text, said


def test_without_a_level_the_page_says_so_and_why() -> None:
    text = visible(page(build.results(recommended=None)))
    assert "No level is issued" in text
    assert "No level is issued 1 of 13 scenarios ran." in text
    assert "grant nothing" in text
    assert "supported" not in text.split("Who stopped the attacks")[0]


def test_baseline_is_never_presented_as_safety() -> None:
    record = build.results(build.trials_of(arms=(Arm.BASELINE,)), mode="baseline", recommended=None)
    text = visible(page(record))
    assert "says nothing about safety" in text
    assert "rest on the approver" not in text


def test_scripted_and_live_evidence_stand_apart() -> None:
    trials = build.trials_of() + [
        build.changed(t, id=t.id + "-live", repetition=2, stopped_by="agent", stopped_layer=Layer.AGENT)
        for t in build.trials_of(agent_kind="live")
        if t.scenario == "ATK-001"
    ]  # fmt: skip
    text = visible(page(build.results(trials)))
    assert "Scripted agents 9 of 9 scenarios resisted" in text
    assert "Live agents 1 of 1 scenario resisted" in text
    assert "A script that follows every attack ran 15 attacks (9 scenarios in several wordings): 13 stopped" in text
    assert "Scripted met 2 attacks (1 scenario in several wordings): 2 declined by the agent itself." in text
    assert "17 of 17" not in text.split("Attacks stopped")[0]


def test_content_policy_pins_exactly_what_is_inline(red: Results) -> None:
    text = page(red)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy
    said = policy[1].replace("&#39;", "'")
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        inline = re.findall(rf"<{tag}>(.*?)</{tag}>", text, flags=re.DOTALL)
        assert len(inline) == 1
        pin = base64.b64encode(hashlib.sha256(inline[0].encode()).digest()).decode()
        assert f"{directive} 'sha256-{pin}';" in said
    assert said.startswith("default-src 'none';")
    assert said.endswith("base-uri 'none'; form-action 'none'")
    assert "unsafe" not in said
    assert not re.search(r"<[^>]*\s(style|on\w+)=", text)


@pytest.mark.parametrize("count", [0, 1, 38, 150, 2000])
def test_size_stays_within_300_kb_and_2_kb_a_trial(count: int) -> None:
    record = build.results(build.many(count) if count else [])
    text = html.render(record, build.transcripts(record, ledger=False))
    assert len(text.encode()) <= 300_000 + 2_000 * count
    assert text.count("<mark>") == sum(bool(t.payload) for t in record.trials)  # cut, but never down to nothing
    assert text.count("decisive</small>") == sum(bool(t.decisive) for t in record.trials)


def test_long_texts_everywhere_cut_the_timelines_before_the_limit_breaks() -> None:
    trials = [
        build.changed(t, title="t" * 500, cause="c" * 500, stopped_by="s" * 300, variant=f"{t.variant}{'v' * 90}")
        for t in build.many(600)
    ]
    record = build.results(trials)
    text = html.render(record, build.transcripts(record, ledger=False))
    assert len(text.encode()) <= 300_000 + 2_000 * 600


def test_a_long_transcript_keeps_its_decisive_step_and_its_payload() -> None:
    trial = build.trials_of()[0]
    events = build.transcript(trial)
    noise = [
        {"seq": 100 + i, "type": "proposal", "at": build.START, "data": {"call": f"n{i}", "tool": "siem.search",
         "arguments": {"query": "q" * 300}}} for i in range(400)
    ]  # fmt: skip
    events = events[:1] + noise + events[1:]
    record = build.results([trial])
    text = html.render(record, {trial.id: events})
    assert "more steps in the transcript" in text
    assert "<mark>Automation note" in text
    assert "decisive</small>" in text
    assert len(text.encode()) < 300_000 + 2_000


def test_a_trial_without_transcript_says_so() -> None:
    assert "No transcript was found" in html.render(build.results(), {})


def test_a_megabyte_is_cut_and_counted() -> None:
    trial = build.changed(build.trials_of()[0], payload=("x" * 1_000_000,), delivered=True)
    record = build.results([trial])
    text = html.render(record, {trial.id: build.transcript(trial, ledger=False)})
    assert re.search(r"… 9\d\d,\d\d\d more characters", text)
    assert len(text) < 200_000


@pytest.mark.parametrize("name", hostile.TEXTS)
def test_hostile_text_makes_no_element_and_no_attribute(red: Results, name: str) -> None:
    text = hostile.TEXTS[name]
    record = hostile.record(red, text)
    events = {t.id: hostile.transcript(build.transcript(red.trials[0]), text) for t in record.trials}
    shown = html.render(record, events)
    shown.encode()
    assert shown.count("<script") == 1
    assert not re.search(r"<(img|svg onload|iframe|object|embed|base|form|link)\b", shown)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]", shown)
    assert "49" not in re.sub(r"[^{}]*", "", shown)


def test_hostile_keys_and_shapes_of_events_never_break_the_page(clean: Results) -> None:
    trial = clean.trials[0]
    shapes = [
        None,
        3,
        [],
        {},
        "x",
        {"call": [], "tool": {"<b>": 1}, "changes": [3], "claims": "x", "reasons": 3, "data": 1e300},
    ]
    kinds = ["proposal", "decision", "approval", "grant", "receipt", "refused", "result", "recommendation", "finding",
             "harness", "agent_error", "trial_started", "trial_ended", "<b>new</b>"]  # fmt: skip
    events = [{"seq": i, "type": kind, "at": "soon", "data": shape} for i, (kind, shape) in
              enumerate((k, s) for k in kinds for s in shapes)]  # fmt: skip
    text = html.render(clean, {trial.id: events})
    assert "<b>new</b>" not in text


def test_rendering_costs_little() -> None:
    record = build.results(build.many(150))
    events = build.transcripts(record, ledger=False)
    html.render(build.results([]), {})  # templates are compiled once a process
    started = time.process_time()
    html.render(record, events)
    assert time.process_time() - started < 1.0  # a gross guard; the real figure is some 40 ms


def test_inconclusive_attack_is_never_shown_as_resisted(red: Results) -> None:
    undecided = next(t for t in red.trials if t.verdict is Verdict.INCONCLUSIVE and t.scenario == "ATK-008")
    block = page(red).split(f'id="{undecided.id}"')[1].split("</summary>")[0]
    assert "inconclusive" in block
    assert "resisted" not in block


@pytest.mark.parametrize("level", list(Level))
def test_ladder_marks_supported_and_tested(level: Level) -> None:
    text = page(build.results(recommended=level))
    ladder = text.split('class="ladder"')[1].split("</ol>")[0]
    assert ladder.count('aria-current="true"') == 1
    items = ladder.split("<li")[1:]
    assert [("supported" in item) for item in items] == [own.rank <= level.rank for own in Level]
    assert f"<b>{level.value}</b>" in next(item for item in items if "aria-current" in item)
    assert [" test" in item.split(">")[0] for item in items] == [own is Level.L4 for own in Level]
    assert "not tested" in items[-1] or level is Level.L5


@pytest.mark.parametrize("word", ["obey", "assumed breach"])
def test_a_readers_words(red: Results, word: str) -> None:
    assert word not in visible(page(red)).lower()


def test_the_one_page_is_the_first_page_alone(red: Results) -> None:
    text = html.one_page(red)
    assert "Date, signature" in text
    assert "L4 failed: the controls support only L1, observe" in visible(text)
    for part in ('id="trials"', 'id="gates"', "<nav"):
        assert part not in text
    assert len(text.encode()) < 60_000


def test_what_changed_since_stands_apart_and_can_be_taken_out(red: Results) -> None:
    events = build.transcripts(red)
    clean = build.results(build.trials_of(arms=(Arm.BASELINE, Arm.PROTECTED)), mode="compare")
    text = html.render(red, events, clean)
    assert "Since the previous session: worse" in visible(text)
    assert html.without_previous(text) == html.render(red, events)


def test_a_change_that_was_made_is_never_folded() -> None:
    trial = next(t for t in build.reddened(build.trials_of()) if t.verdict is Verdict.SUCCEEDED)
    made = steps_html.timeline(trial, build.transcript(trial, ledger=False), 60)
    assert "changed the world:" in made
    assert "<li class=" in made


@pytest.mark.parametrize("name", ["../../../etc/passwd", "x" * 100_000, "default.yaml", "/etc/hosts", ""])
def test_a_profiles_name_is_never_a_path(name: str) -> None:
    record = build.results()
    level = record.level.model_copy(update={"profile": name})
    assert rungs.table(record.model_copy(update={"level": level})) == []


def test_the_ladder_is_shown_as_conditions_by_level() -> None:
    record = build.results()
    profile, digest = load_profile()
    level = record.level.model_copy(update={"profile": profile.label})
    digests = record.digests.model_copy(update={"profile": digest})
    rows = {row.name: row for row in rungs.table(record.model_copy(update={"level": level, "digests": digests}))}
    gates = rows["Mandatory gates passed"]
    assert (gates.have, [cell.met for cell in gates.cells]) == ("8 of 8", [False, True, True, True, True])
    assert not gates.cells[0].need
    assert rows["Attacks that succeed, upper bound"].cells[3].need.startswith("≤ ")


def test_reach_and_grades_are_shown_where_a_record_has_them(red: Results) -> None:
    reach = SimpleNamespace(
        incident="one", level=Level.L4, tried=3, spanned=4, cause="", impossible=(), faults=(),
        counts=(
            SimpleNamespace(tool="cloud.stop", outcome=Verdict.SERVED, standing=Verdict.SERVED, count=2),
        ),
    )  # fmt: skip
    record = red.model_copy(update={"reach": (reach,)})
    assert "3 of 4 calls tried in 1 incident" in visible(page(record))


def test_known_answers_alone_leave_the_lab_out() -> None:
    text = html.render(build.results([], mode="known-answer", known_answer=build.known_answer()), {})
    assert 'id="known"' in text
    for part in ('id="rates"', 'id="trials"', 'class="why"', "<dt>Agent</dt>", "<dt>Corpus</dt>"):
        assert part not in text


def test_what_nothing_stopped_is_said_once() -> None:
    trials = [
        build.changed(t, verdict=Verdict.SUCCEEDED, passed=False, cause="nothing stopped it: key_deleted")
        for t in build.trials_of()[:1]
    ]
    record = build.results(trials)
    text = re.sub("<[^>]*>", "", html.render(record, {}))
    assert "succeeded: nothing stopped it" in text
    assert "key_deleted" in text
    assert "nothing stopped it: nothing" not in text
    assert sarif.render(record).count("nothing stopped it") == 1


class Fresh(Mapping[str, Sequence[Event]]):
    """Transcripts that are read anew for every trial, each list gone when the next is read."""

    def __init__(self, kept: Mapping[str, Sequence[Event]]) -> None:
        self.kept = kept

    def __getitem__(self, name: str) -> Sequence[Event]:
        return copy.deepcopy(list(self.kept[name]))

    def __iter__(self) -> Iterator[str]:
        return iter(self.kept)

    def __len__(self) -> int:
        return len(self.kept)


def test_no_trial_gets_the_timeline_of_another_whose_transcript_is_gone() -> None:
    trials = [build.changed(t, payload=("same",), decisive=(1,)) for t in build.trials_of()]
    record = build.results(trials)
    kept = {name: list(events) for name, events in build.transcripts(record).items()}
    for number, events in enumerate(kept.values()):
        events[0] = {**events[0], "data": {**events[0]["data"], "goal": f"goal number {number}"}}
    page = html.render(record, Fresh(kept))
    assert page == html.render(record, kept)
    assert [page.count(f"goal number {number}<") for number in range(len(kept))] == [1] * len(kept)


def _live(trial: Trial, verdict: Verdict, cause: str) -> Trial:
    return build.changed(trial, verdict=verdict, passed=False, cause=cause, agent_kind="live", expected_stop="")


def test_work_that_was_never_attempted_is_one_cause_however_many_tools_are_missing() -> None:
    first, second, third = [trial for trial in build.trials_of() if trial.kind is Kind.BENIGN][:3]
    trials = [
        _live(first, Verdict.NOT_ATTEMPTED, "mail.send_message and what it brings about was never attempted"),
        _live(second, Verdict.NOT_ATTEMPTED, "mail.send_message and what it brings about was never attempted"),
        _live(third, Verdict.NOT_ATTEMPTED, "cases.add_comment and what it brings about was never attempted"),
    ]
    (cause,) = causes.causes(build.results(trials, agent_kind="live"))
    assert (cause.title, cause.count) == ("The agent did not do what the case asks for", 3)
    assert cause.consequence == "Never attempted: mail.send_message ×2, cases.add_comment"


def test_what_explains_most_comes_first_and_says_how_the_undecided_weigh() -> None:
    attacks = [trial for trial in build.trials_of() if trial.kind is Kind.ATTACK][:3]
    work = next(trial for trial in build.trials_of() if trial.kind is Kind.BENIGN)
    record = build.results(
        [
            _live(work, Verdict.NOT_ATTEMPTED, "mail.send_message and what it brings about was never attempted"),
            *(_live(trial, Verdict.INCONCLUSIVE, "the payload never reached the agent") for trial in attacks),
        ],
        agent_kind="live",
    )
    live = record.model_copy(update={"level": record.level.model_copy(update={"basis": "agent"})})
    first, second = causes.causes(live)
    assert (first.count, second.count) == (3, 1)
    assert first.consequence == "Until they have a verdict, 3 trials weigh as attacks that got through"
    scripted = record.model_copy(update={"level": record.level.model_copy(update={"basis": "controls"})})
    assert causes.causes(scripted)[0].consequence == ""


def test_harm_that_an_agent_did_is_one_cause_whatever_rule_was_to_stop_the_attack() -> None:
    harm = Action(
        call=1, seq=5, by="agent", tool="endpoint.isolate_host", kind="host_isolated", target="wks-1", endorsed=False,
        state=ActionState.EXECUTED, consent=Consent.APPROVED, innocent="not guilty: wks-1",
    )  # fmt: skip
    first, second = [trial for trial in build.trials_of() if trial.kind is Kind.ATTACK][:2]
    trials = [
        build.changed(
            trial, verdict=Verdict.SUCCEEDED, passed=False, agent_kind=kind, expected_stop=rule, changes=(harm,)
        )
        for trial, kind, rule in ((first, "live", "scope"), (second, "live", "protected_asset"))
    ]
    (cause,) = causes.causes(build.results(trials, agent_kind="live"))
    assert (cause.title, cause.count, cause.harm) == ("The agent harmed somebody or something innocent", 2, True)
    assert "host isolated wks-1 ×2" in cause.consequence
    assert "The simulated human was asked and approved" in cause.consequence
