"""The words that page, summary and terminal share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_soclab.assurance import words as bounds
from pytest_soclab.evidence.results import Kind, Layer, Measured, NoData, Verdict
from pytest_soclab.report import known, words

from . import build


@pytest.mark.parametrize(("fraction", "up", "down"), [
    (0.0, "0 %", "0 %"), (1.0, "100 %", "100 %"), (0.1, "10 %", "10 %"), (0.1004, "10.1 %", "10 %"),
    (0.2425, "24.3 %", "24.2 %"), (0.9987, "99.9 %", "99.8 %"), (0.9999, "100 %", "99.9 %"), (0.3, "30 %", "30 %"),
])  # fmt: skip
def test_percent(fraction: float, up: str, down: str) -> None:
    assert words.percent(fraction) == up
    assert words.percent(fraction, up=False) == down


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_no_printed_bound_is_better_than_the_real_one(counts: tuple[int, int]) -> None:
    rate = build.wilson(*counts)
    assert isinstance(rate, Measured)
    low, high = (float(part[:-2]) / 100 for part in words.bounds(rate).split(" to "))
    assert low <= rate.low + 1e-6
    assert high >= rate.high - 1e-6
    assert words.percent(rate.high) == bounds.percent(rate.high)  # one rounding on every surface


def test_nothing_measured_is_no_data() -> None:
    assert words.rate_sentence(NoData()) == "no data"


def trial(**values: object) -> words.Trial:
    return build.changed(build.trials_of()[0], **values)


@pytest.mark.parametrize(("values", "text"), [
    ({}, "resisted by protected_asset (policy, protected_asset.rego:41)"),
    ({"stopped_layer": Layer.AGENT, "stopped_by": "agent"}, "resisted by the agent, which declined"),
    ({"stopped_layer": Layer.APPROVER, "stopped_by": "approver"}, "resisted by the approver alone"),
    ({"stopped_layer": Layer.GRANT, "stopped_by": "grant_replayed", "stopped_rule": ""},
     "resisted by grant_replayed (grant check)"),
    ({"stopped_by": "unknown_tool", "passed": False},
     "resisted by unknown_tool (policy, protected_asset.rego:41), expected protected_asset"),
    ({"verdict": Verdict.SUCCEEDED}, "succeeded: nothing stopped it"),
    ({"verdict": Verdict.INCONCLUSIVE, "cause": "timed out"}, "inconclusive: timed out"),
    ({"verdict": Verdict.INCONCLUSIVE}, "inconclusive"),
    ({"verdict": Verdict.BLOCKED, "stopped_layer": Layer.APPROVER}, "blocked by the approver"),
    ({"verdict": Verdict.SERVED}, "served"),
])  # fmt: skip
def test_verdict_text(values: dict[str, object], text: str) -> None:
    assert words.verdict_text(trial(**values)) == text


def test_a_scenario_holds_only_when_every_repetition_does() -> None:
    trials = build.trials_of(repetitions=3)
    assert words.tally(trials, Kind.ATTACK) == words.Tally(9, 9, 0, 0, 1)
    undecided = [
        build.changed(t, verdict=Verdict.INCONCLUSIVE) if t.id == "ATK-001-plain-protected-2" else t for t in trials
    ]
    assert words.tally(undecided, Kind.ATTACK) == words.Tally(9, 8, 0, 1, 1)
    broken = [
        build.changed(t, verdict=Verdict.SUCCEEDED) if t.id == "ATK-001-plain-protected-3" else t for t in undecided
    ]
    assert words.tally(broken, Kind.ATTACK) == words.Tally(9, 8, 1, 0, 1)


def test_trial_command_runs_the_trial_under_the_sessions_own_options() -> None:
    import shlex

    hostile = trial(nodeid="a'; rm -rf ~ #\n$(id)`id`::X[y]")
    session = build.results(build.trials_of()).model_copy(
        update={"command": ("--soclab-mode=compare", "--soclab-policies=a b", "-k", "ATK", "--soclab-level=L3")}
    )
    words_of = shlex.split(words.trial_command(hostile, session))
    assert words_of[:-1] == ["pytest", "--soclab-mode=protected", "--soclab-policies=a b", "--soclab-level=L3"]
    bundled = session.model_copy(update={"command": ("--soclab-mode=protected", "--soclab-bundled")})
    pasted = trial(nodeid="attacks/ATK-001.yaml::ATK-001[plain-protected]")
    assert shlex.split(words.trial_command(pasted, bundled)) == [
        "pytest", "--soclab-mode=protected", "--soclab-bundled", "attacks/ATK-001.yaml::ATK-001[plain-protected]",
    ]  # fmt: skip
    chosen = ("--soclab-mode=protected", "-m", "attack", "--deselect=x", "--ignore=y", "scenarios/attacks")
    narrow = session.model_copy(update={"command": chosen})
    assert shlex.split(words.trial_command(trial(nodeid="n"), narrow)) == ["pytest", "--soclab-mode=protected", "n"]


def test_known_answer_document_with_nothing_in_it_is_no_crash() -> None:
    assert known.read({}).decision == "unknown"
    assert not known.read({}).held
