"""The known-answer gate as test items, alone and beside the lab."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Corpus

CASES = Path(__file__).parents[1] / "known_answer" / "cases" / "runs"
BASELINE = [f"--soclab-baseline={CASES / name / 'score.md'}" for name in ("a1", "a2", "a3")]
CANDIDATE = [f"--soclab-candidate={CASES / name / 'score.md'}" for name in ("b1", "b2", "b3")]
SELF = [f"--soclab-candidate={CASES / name / 'score.md'}" for name in ("a1", "a2", "a3")]


@pytest.fixture
def alone(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini("[pytest]\n")
    return pytester


@pytest.mark.parametrize("workers", [[], ["-n0"], ["-n2"]], ids=["plain", "n0", "n2"])
def test_a_drop_fails_and_the_rest_passes_or_skips(alone: pytest.Pytester, workers: list[str]) -> None:
    result = alone.runpytest_subprocess(*BASELINE, *CANDIDATE, *workers, "-rs")
    assert result.ret == 1
    result.assert_outcomes(failed=4, passed=6, skipped=2)
    result.stdout.fnmatch_lines(["dropped: K3.2  partly (body) 3 of 3 → partly (dump) 3 of 3"])
    result.stdout.fnmatch_lines(["*not gated: * of 3 baseline runs scored it*"])
    text = result.stdout.str()
    assert "Traceback" not in text
    assert "gate known_answer failed" in text


def test_an_arm_against_itself_drops_nothing(alone: pytest.Pytester) -> None:
    result = alone.runpytest_subprocess(*BASELINE, *SELF)
    assert result.ret == 0
    assert "failed" not in result.parseoutcomes()


def test_selecting_and_last_failed(alone: pytest.Pytester) -> None:
    names = alone.runpytest_subprocess(*BASELINE, *CANDIDATE, "--collect-only", "-q").outlines
    assert "known-answer::K3.2" in names
    assert "known-answer::beyond-human" in names
    assert alone.runpytest_subprocess(*BASELINE, *CANDIDATE, "-k", "K3").parseoutcomes()["failed"] == 1
    held = alone.runpytest_subprocess(*BASELINE, *CANDIDATE, "-k", "K7")
    assert held.ret == 0
    held.stdout.fnmatch_lines(["*known answer: 1 of * gated items were selected*"])
    alone.runpytest_subprocess(*BASELINE, *CANDIDATE)
    again = alone.runpytest_subprocess(*BASELINE, *CANDIDATE, "--lf")
    again.assert_outcomes(failed=4, deselected=8)
    first = alone.runpytest_subprocess(*BASELINE, *CANDIDATE, "-x")
    assert first.parseoutcomes()["failed"] == 1


def test_report_summary_and_junit_have_the_section(alone: pytest.Pytester) -> None:
    alone.runpytest_subprocess(*BASELINE, *CANDIDATE, "--junitxml=out.xml", "--soclab-summary=sum.md")
    folder = alone.path / ".soclab" / "latest"
    for text in ((folder / "report.html").read_text(), (alone.path / "sum.md").read_text()):
        assert "K3.2" in text
        assert "partly (dump)" in text
    assert 'name="soclab.known_answer:K3.2" value="dropped"' in (alone.path / "out.xml").read_text()


def test_a_drop_beside_the_lab_caps_the_level(corpus: Corpus) -> None:
    result = corpus.run(*BASELINE, *CANDIDATE)
    outcomes = result.parseoutcomes()
    assert (outcomes["failed"], outcomes["passed"], outcomes["skipped"]) == (4, 9, 2)
    gates = {gate["name"]: gate["status"] for gate in corpus.results()["gates"]}
    assert gates["known_answer"] == "failed"
    held = corpus.run(*BASELINE, *SELF)
    assert held.ret == 0
    assert {g["name"]: g["status"] for g in corpus.results()["gates"]}["known_answer"] == "passed"


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["plain", "n2"])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (BASELINE, "the known-answer gate has no candidate; add --soclab-candidate=RUN"),
        (CANDIDATE, "the known-answer gate has no baseline; add --soclab-baseline=RUN"),
        (["--soclab-sheet=a.csv"], "--soclab-sheet belongs to the known-answer gate"),
        ([*BASELINE, "--soclab-candidate=missing.md"], "missing.md: cannot be read"),
        ([*BASELINE, *CANDIDATE, "--soclab-baseline-m=4"], "m is 4 with 3 runs"),
    ],
)
def test_what_cannot_be_compared_is_a_usage_error(
    alone: pytest.Pytester, options: list[str], words: str, workers: list[str]
) -> None:
    result = alone.runpytest_subprocess(*options, *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert words in result.stderr.str()
    assert not (alone.path / ".soclab").exists()


def test_blind_runs_and_their_map(alone: pytest.Pytester) -> None:
    blind = CASES.parent / "blind-1"
    result = alone.runpytest_subprocess(
        "--soclab-baseline=blind:run7",
        "--soclab-candidate=blind:haiku4",
        f"--soclab-sheet={blind / 'scorer' / 'scores.csv'}",
        f"--soclab-map={blind / 'sealed-map.json'}",
    )
    assert result.ret == 1
    assert result.parseoutcomes()["failed"] > 5


def test_a_printed_node_id_runs_again(alone: pytest.Pytester) -> None:
    result = alone.runpytest_subprocess(*BASELINE, *CANDIDATE, "known-answer::K3.2", "known-answer::task updater")
    result.assert_outcomes(failed=2)
    unknown = alone.runpytest_subprocess(*BASELINE, *CANDIDATE, "known-answer::K3.22")
    assert unknown.ret == pytest.ExitCode.USAGE_ERROR
    assert "did you mean 'K3.2'?" in unknown.stderr.str()


def test_a_skip_mark_skips_and_hides_no_drop(alone: pytest.Pytester) -> None:
    alone.makeconftest(
        "import pytest\n"
        "def pytest_collection_modifyitems(items):\n"
        "    for item in items:\n"
        "        item.add_marker(pytest.mark.skip(reason='later'))\n"
    )
    result = alone.runpytest_subprocess(*BASELINE, *CANDIDATE, "known-answer::K3.2")
    result.assert_outcomes(skipped=1)
    assert "INTERNALERROR" not in result.stdout.str()
    assert result.ret == 1
    assert "gate known_answer failed" in result.stdout.str()
