"""Two records side by side: lost, gained, new, missing, and whether the new one is worse."""

from __future__ import annotations

import pytest

from pytest_soclab.evidence.results import Layer, Level, Results, Verdict
from pytest_soclab.report import compare

from . import build, hostile


def clean() -> Results:
    return build.results()


def ids(items: object) -> list[str]:
    return [item.id for item in items]


def test_the_same_record_is_not_worse() -> None:
    found = compare.compare(clean(), clean())
    assert not found.worse
    assert compare.render(found).splitlines()[:3] == [
        "not worse",
        "ran on",
        "  the same corpus, policy, profile and agent",
    ]
    assert compare.render(found).splitlines()[3:7] == ["level", "  unchanged", "gates", "  unchanged"]


def test_lost_and_gained() -> None:
    broken = build.results(build.reddened(build.trials_of()))
    there, back = compare.compare(clean(), broken), compare.compare(broken, clean())
    assert sorted(ids(there.lost)) == sorted(ids(back.gained))
    assert len(there.lost) == 5
    assert there.worse
    assert not back.worse
    assert str(there.lost[0]) == (
        "ATK-003-german-protected: resisted by self_blinding (policy, self_blinding.rego:41) → "
        "succeeded: nothing stopped it (scenarios/attacks/ATK-003-mail.yaml:3)"
    )


def test_missing_fails_and_new_does_not() -> None:
    fewer = build.results(build.trials_of()[1:])
    found = compare.compare(clean(), fewer)
    assert ids(found.missing) == ["ATK-001-plain-protected"]
    assert found.faults == ("1 trial missing",)
    other_way = compare.compare(fewer, clean())
    assert ids(other_way.new) == ["ATK-001-plain-protected"]
    assert not other_way.worse


def test_stopped_by_something_else_is_shown_and_not_worse() -> None:
    trials = [
        build.changed(t, stopped_by="scope", stopped_layer=Layer.POLICY) if t.scenario == "ATK-001" else t
        for t in build.trials_of()
    ]
    found = compare.compare(clean(), build.results(trials))
    assert len(found.changed) == 2
    assert not found.worse


@pytest.mark.parametrize(("old", "new", "worse"), [
    (Level.L3, Level.L2, True), (Level.L3, None, True), (Level.L3, Level.L4, False), (None, Level.L1, False),
])  # fmt: skip
def test_a_lower_level_is_worse(old: Level | None, new: Level | None, worse: bool) -> None:
    assert compare.compare(build.results(recommended=old), build.results(recommended=new)).worse is worse


def test_a_gate_that_no_longer_passes_is_worse_even_undecided() -> None:
    found = compare.compare(clean(), build.results(undecided_gates=["approval_bypass"]))
    assert found.faults == ("gate approval bypass was passed and is undecided",)


def test_levels_on_different_evidence_are_not_compared() -> None:
    live = build.results(build.trials_of(agent_kind="live"), agent_kind="live", recommended=Level.L5)
    assert "cannot be compared" in compare.compare(clean(), live).faults[0]
    none = build.results(build.trials_of(agent_kind="live"), agent_kind="live", recommended=None)
    assert not [fault for fault in compare.compare(clean(), none).faults if "fell" in fault]


def test_changed_digests_stand_first() -> None:
    new = clean().model_copy(
        update={
            "digests": clean().digests.model_copy(update={"policy": "ff" * 32, "scenarios": {"ATK-001": "00" * 32}})
        }
    )
    text = compare.render(compare.compare(clean(), new))
    lines = text.splitlines()
    assert lines[1:4] == [
        "ran on", "  policy: 3c3c3c3c3c3c → ffffffffffff", "  scenario ATK-001: 9b9b9b9b9b9b → 000000000000",
    ]  # fmt: skip
    assert "  scenario ATK-002: 9b9b9b9b9b9b → absent" in lines


def test_rates_have_both_intervals() -> None:
    broken = build.results(build.reddened(build.trials_of()))
    assert (
        "  attacks that succeeded: 0 of 9, 95 % interval 0 % to 30 % → 1 of 9, 95 % interval 1.9 % to 43.5 %"
        in compare.render(compare.compare(clean(), broken)).splitlines()
    )


def test_a_verdict_that_becomes_inconclusive_is_lost() -> None:
    trials = [build.changed(t, verdict=Verdict.INCONCLUSIVE, passed=False) for t in build.trials_of()]
    assert len(compare.compare(clean(), build.results(trials)).lost) == 19


@pytest.mark.parametrize("name", hostile.TEXTS)
def test_hostile_text_is_printable(red: Results, name: str) -> None:
    text = compare.render(compare.compare(hostile.record(red, "x"), hostile.record(red, hostile.TEXTS[name])))
    text.encode()
    assert all(line.isprintable() for line in text.splitlines())
