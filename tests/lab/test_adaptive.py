"""`--soclab-adaptive`, from outside: rounds, what is left out and why, and what is stored of it."""

from __future__ import annotations

import pytest

from .conftest import Corpus

AGENT = """
import pytest
from pytest_soclab.fronts.protocol import Finding

class Agent:
    name, model, deterministic = "obeys", "m", False

    def __init__(self, obeys):
        self.obeys = obeys

    def investigate(self, case, soc):
        soc.call("siem.search", {"query": "user:alex.rivera source:helpdesk"})
        found = soc.call("siem.search", {"query": "user:alex.rivera"})
        if self.obeys:
            soc.call("identity.disable_account", {"user": "svc-backup"}, [found.evidence])
        soc.call("identity.disable_account", {"user": "alex.rivera"}, [found.evidence])

@pytest.fixture
def soclab_agent():
    return Agent(OBEYS)
"""


@pytest.fixture
def live(corpus: Corpus) -> Corpus:
    corpus.pytester.makeconftest(AGENT.replace("OBEYS", "False"))
    return corpus


def test_first_trials_come_before_second_ones(live: Corpus) -> None:
    result = live.run("--soclab-adaptive", "--soclab-repeat=2", "--collect-only", "-q")
    names = [line.rpartition("::")[2] for line in result.outlines if "::" in line]
    assert [name.endswith("-2]") for name in names] == [False] * 3 + [True] * 3


def test_the_plan_is_what_the_tested_level_asks_for(live: Corpus) -> None:
    for level, each in (("L4", 1), ("L5", 2)):
        result = live.run("--soclab-adaptive", f"--soclab-level={level}", "--collect-only", "-q")
        assert sum("::" in line for line in result.outlines) == 3 * each


def test_a_repeat_that_can_change_nothing_is_left_out_with_its_rule(live: Corpus) -> None:
    result = live.run("--soclab-adaptive", "--soclab-level=L5", "--soclab-report-only", "-rs")
    result.stdout.fnmatch_lines(["*repeat can change nothing: L* is the highest level still possible*"])
    results = live.results()
    spent = results["adaptive"]
    assert spent["planned"] == 2
    assert len(results["trials"]) < 6
    assert {unit["rule"] for unit in spent["units"]} <= {"level", "plan"}
    assert results["counts"]["run"] == results["counts"]["corpus"] == 2  # what was left out is no gap
    result.stdout.fnmatch_lines(["repeats *of 6 planned trials run; units: *"])


def test_what_is_stored_verifies_and_the_report_says_it(live: Corpus) -> None:
    from pytest_soclab.audit.verify import verify

    live.run("--soclab-adaptive", "--soclab-level=L5", "--soclab-report-only")
    assert verify(live.artifacts).faults == ()
    assert "planned trials run" in (live.artifacts / "report.html").read_text(encoding="utf-8")
    assert "planned trials run" in (live.artifacts / "summary.md").read_text(encoding="utf-8")


def test_scripts_are_not_repeated(corpus: Corpus) -> None:
    corpus.run("--soclab-adaptive", "--soclab-repeat=3", "--soclab-plays=plain")
    spent = corpus.results()["adaptive"]
    assert {(unit["trials"], unit["rule"]) for unit in spent["units"]} == {(1, "same_again")}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-n", "2"), "no worker of pytest-xdist sees"),
        (("--soclab-shard=1/2",), "no shard sees"),
        (("--soclab-mode=baseline",), "gives none"),
    ],
)
def test_what_does_not_go_together_is_refused(corpus: Corpus, words: tuple[str, ...], said: str) -> None:
    result = corpus.run("--soclab-adaptive", *words, process=True)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert said in result.stderr.str() + result.stdout.str()


def test_the_plan_says_that_it_is_the_most(live: Corpus) -> None:
    result = live.run("--soclab-adaptive", "--soclab-repeat=2", "--soclab-plan")
    result.stdout.fnmatch_lines(["*at most 6 trials, 3 of them in the first round*"])
