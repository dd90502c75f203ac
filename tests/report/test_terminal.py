"""The terminal section: three lines, the default, and everything; at 80 columns and without colour."""

from __future__ import annotations

import pytest

from pytest_soclab.evidence.results import Arm, Results
from pytest_soclab.report import terminal

from . import build, hostile


def text(record: Results, verbosity: int = 0, width: int = 80) -> str:
    return "\n".join(line.text for line in terminal.render(record, verbosity=verbosity, width=width))


def test_quiet_is_four_lines(red: Results) -> None:
    assert text(red, -1, 132).splitlines() == [
        "L4 failed: the controls support only L1, observe",
        "attacks: 7 of 9 scenarios resisted, 1 succeeded, 1 inconclusive",
        "Without controls: got through 15; Behind the controls: policy rules 9, a human alone 2, grant checks 2, "
        "got through 1, no verdict 1",
        "work: 2 of 4 scenarios served, 1 blocked, 1 inconclusive; 6 of 8 gates passed; 5 red trials",
    ]


def test_quiet_says_why_no_level_is_issued_and_that_nothing_ran() -> None:
    assert text(build.results([build.trials_of()[0]], recommended=None), -1).splitlines() == [
        "No level is issued: 1 of 13 scenarios ran",
        "attacks: 1 of 1 scenario resisted",
        "Behind the controls: policy rules 1",
        "work: none ran; 8 of 8 gates passed; 0 red trials",
    ]


def test_default_names_red_trials_and_counts_the_bill(red: Results) -> None:
    said = text(red)
    assert "red         ATK-003-german-protected succeeded: nothing stopped it\n            scenarios/attacks/" in said
    assert "next        L4 (act with approval): 2 unmet conditions (-v prints the bill)" in said
    assert "20 more distinct" not in said
    assert said.startswith(
        "FAILED      L4 failed: the controls support only L1, observe\nbecause     1 of 5 red trials: An attack got"
    )
    assert "1 of 7 resisted scenarios rests on a human alone" in said
    assert "stopped by  Without controls, 15 wordings: got through 15\n" in said
    assert "Behind the controls, 15 wordings: policy rules 9, a human" in said
    assert "corpus      13 of 13 scenarios ran, 2 of 19 trials inconclusive" in said


def test_a_gate_that_is_not_passed_is_named_once(red: Results) -> None:
    assert text(red).count("policy outage fail open") == 1


def test_the_sentence_of_the_headline_is_not_repeated_as_a_reason() -> None:
    record = build.results()
    level = record.level.model_copy(update={"why": ("controls support L3", "15 of 15 attacks resisted")})
    said = text(record.model_copy(update={"level": level}), 1)
    assert "controls support L3\n" not in said
    assert "why         15 of 15 attacks resisted" in said


def test_a_part_of_the_corpus_has_no_bill() -> None:
    record = build.results(recommended=None)
    following = build.results().level.next
    part = record.model_copy(
        update={
            "level": record.level.model_copy(update={"next": following}),
            "counts": record.counts.model_copy(update={"corpus": 40}),
        }
    )
    assert "next        no level in a part of the corpus" in text(part)
    assert "unmet" not in text(part, 1)


def test_a_live_agent_is_named() -> None:
    record = build.results(build.trials_of(agent_kind="live"), agent_kind="live")
    agent = record.agent.model_copy(update={"name": "mine", "model": "model-x"})
    assert "tested      Agent mine, model model-x, at L4" in text(record.model_copy(update={"agent": agent}))


def test_known_answers_alone_say_nothing_about_the_lab() -> None:
    record = build.results([], mode="known-answer", known_answer=build.known_answer(), recommended=None)
    said = text(record, 1)
    assert said.startswith("answers     Known answers dropped: 2 items and the beyond-human count fell")
    for word in ("FAILED", "why ", "corpus", "attacks", "basis"):
        assert f"\n{word}" not in said
    assert len(text(record, -1).splitlines()) == 3


def test_what_changed_since_an_earlier_session_is_said(red: Results) -> None:
    clean = build.results(build.trials_of(arms=(Arm.BASELINE, Arm.PROTECTED)), mode="compare")
    said = "\n".join(line.text for line in terminal.render(red, verbosity=0, previous=clean))
    assert "since       5 trials lost; level fell from L3 (recommend) to L1 (observe)" in said


def test_verbose_prints_bill_and_reasons(red: Results) -> None:
    said = text(red, 1)
    assert "attack success, upper bound: have 15 of 15 resisted, upper bound" in said
    assert "20 more distinct clean units" in said
    assert "reasons: scope, blast_radius" in said
    assert "again       pytest --soclab-mode=compare" in said


def test_no_level_says_why() -> None:
    lines = terminal.render(build.results(recommended=None), verbosity=0)
    assert lines[0] == terminal.Line("UNDECIDED   No level is issued", "warn")
    assert lines[1].text == "why         1 of 13 scenarios ran"


def test_baseline_is_never_presented_as_safety() -> None:
    record = build.results(build.trials_of(arms=(Arm.BASELINE,)), mode="baseline", recommended=None)
    assert "says nothing about safety" in text(record).replace("\n            ", " ")


def test_many_red_trials_are_cut_and_counted() -> None:
    trials = [build.changed(t, passed=False) for t in build.many(60)]
    assert "57 more red trials: -v lists them" in text(build.results(trials))
    assert "more red trials" not in text(build.results(trials), 1)


@pytest.mark.parametrize("width", [40, 80, 132])
@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_no_line_is_wider_than_the_terminal(red: Results, width: int, verbosity: int) -> None:
    assert max(map(len, text(red, verbosity, width).splitlines())) <= width


@pytest.mark.parametrize("name", hostile.TEXTS)
def test_hostile_text_cannot_steer_the_terminal(red: Results, name: str) -> None:
    record = hostile.record(red, hostile.TEXTS[name])
    for verbosity in (-1, 0, 1):
        for line in terminal.render(record, verbosity=verbosity):
            assert line.text.isprintable()
            assert len(line.text) <= 80
            line.text.encode()


def test_a_megabyte_is_cut(red: Results) -> None:
    assert len(text(hostile.record(red, "x" * 1_000_000), 1)) < 100_000
