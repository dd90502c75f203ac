"""What users of pytest take for granted: selecting, skipping, stopping, crashing, running twice, debugging."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import ATTACK, CONTROL, Corpus

NOTHING = "session failed: L2 is required, found no level: nothing was assessed; name the scenarios"
OTHER = "def test_other():\n    pass\n"
SKIP = """
import pytest

def pytest_collection_modifyitems(items):
    for item in items:
        if {condition}:
            item.add_marker({mark})
"""
LIVE = """
import pytest, time, os, asyncio

class Agent:
    name, model, deterministic = "mine", "m-1", False
    {investigate}

@pytest.fixture
def soclab_agent():
    return Agent()
"""


def skips(corpus: Corpus, condition: str = "True", mark: str = "pytest.mark.skip(reason='parked')") -> None:
    corpus.pytester.makeconftest(SKIP.format(condition=condition, mark=mark))


def live(corpus: Corpus, *lines: str) -> None:
    body = "\n        ".join(["def investigate(self, case, soc):", *lines])
    corpus.pytester.makeconftest(LIVE.format(investigate=body))


# nothing assessed


def test_a_required_level_is_not_there_where_no_scenario_is(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(OTHER)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--soclab-require-level=L2")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*= soclab =*", NOTHING])
    assert not (pytester.path / ".soclab" / "latest").exists(), "a session that ran nothing replaces nothing"


@pytest.mark.parametrize("mark", ["pytest.mark.skip(reason='parked')", "pytest.mark.skipif(True, reason='parked')"])
@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_required_level_is_not_there_where_all_is_skipped(
    corpus: Corpus, mark: str, workers: tuple[str, ...]
) -> None:
    skips(corpus, mark=mark)
    result = corpus.run("--soclab-require-level=L2", *workers, process=bool(workers))
    assert result.ret == 1
    result.assert_outcomes(skipped=3)
    result.stdout.fnmatch_lines([NOTHING])


def test_a_required_level_is_not_there_where_all_needs_a_higher_one(corpus: Corpus) -> None:
    corpus.attack.unlink()
    corpus.control.write_text(CONTROL.replace("twin: ATK-001\n", ""))
    result = corpus.run("--soclab-level=L1", "--soclab-require-level=L2")
    result.assert_outcomes(skipped=1)
    assert result.ret == 1
    assert corpus.run("--soclab-level=L1", "--soclab-require-level=L2", "--soclab-report-only").ret == 0


# skipping


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_skipped_scenario_is_not_selected_and_counts_agree(corpus: Corpus, workers: tuple[str, ...]) -> None:
    skips(corpus, "item.name.startswith('BEN')", "pytest.mark.skipif(True, reason='parked')")
    result = corpus.run(*workers, process=bool(workers))
    result.assert_outcomes(passed=2, skipped=1)
    assert result.ret == 0
    results = corpus.results()
    assert (results["counts"]["corpus"], results["counts"]["selected"], results["counts"]["run"]) == (2, 1, 1)
    assert {trial["scenario"] for trial in results["trials"]} == {"ATK-001"}
    assert results["level"]["recommended"] is None


def test_a_fixture_that_skips_leaves_an_inconclusive_trial_with_its_reason(corpus: Corpus) -> None:
    source = "import pytest\n@pytest.fixture\ndef soclab_agent():\n    pytest.skip('no key')\n"
    corpus.pytester.makeconftest(source)
    result = corpus.run("-k", "BEN-001")
    assert result.ret == 1
    [trial] = corpus.results()["trials"]
    assert (trial["cause"], trial["agent_kind"]) == ("skipped as it began: no key", "live")


def test_counts_say_that_a_scenario_ran_in_part(corpus: Corpus) -> None:
    result = corpus.run("-k", "plain and ATK-001")
    result.stdout.fnmatch_lines(["*0 of 2 scenarios ran whole, 1 in part*"])


# stopping and crashing


def test_what_did_not_run_says_why_and_of_which_agent(corpus: Corpus) -> None:
    live(corpus, "raise ValueError('x')")
    corpus.run("-x")
    trials = corpus.results()["trials"]
    assert {t["agent_kind"] for t in trials} == {"live"}
    ended = "not run: the session ended before it (stopping after 1 failures)"
    assert sorted(t["cause"] for t in trials) == sorted(
        [ended, ended, "the agent raised ValueError: x (conftest.py:6)"]
    )


def test_a_worker_that_crashes_names_its_trial_and_no_other(corpus: Corpus) -> None:
    live(corpus, "os._exit(9) if 'control' in case.goal or True else None")
    result = corpus.run("-n", "1", "--max-worker-restart=0", process=True)
    assert result.ret == 1
    trials = corpus.results()["trials"]
    crashed = [t for t in trials if "crashed while running" in t["cause"]]
    assert len(trials) == 3
    assert [t["nodeid"] in t["cause"] for t in crashed] == [True]
    assert all(t["cause"].startswith("not run: the session ended") for t in trials if t not in crashed)


# the printed commands


@pytest.mark.parametrize(
    "arguments",
    [
        ("scenarios/attacks",),
        ("scenarios/attacks/ATK-001-note.yaml::ATK-001[german-protected]",),
        ("--deselect", "scenarios/attacks"),
        ("--deselect=scenarios/attacks/ATK-001-note.yaml::ATK-001[plain-protected]", "scenarios"),
        ("--ignore=scenarios/controls", "-k", "plain or german", "--soclab-repeat=2"),
        ("--ignore-glob=*/controls/*", "-m", "attack"),
    ],
)
def test_the_printed_command_runs_what_was_run(corpus: Corpus, arguments: tuple[str, ...]) -> None:
    corpus.run(*arguments)
    first = corpus.results()
    assert len(first["trials"]) < 6
    corpus.run(*first["command"])
    assert [t["id"] for t in corpus.results()["trials"]] == [t["id"] for t in first["trials"]]
    assert corpus.results()["command"] == first["command"]


@pytest.mark.parametrize("flag", ["--lf", "--stepwise"])
def test_a_selection_by_what_an_earlier_run_left_is_printed(corpus: Corpus, flag: str) -> None:
    corpus.pytester.runpytest_inprocess("-p", "cacheprovider", "--soclab-no-reach", flag)
    assert flag in corpus.results()["command"]


def test_a_printed_id_of_the_bundled_corpus_can_be_pasted(pytester: pytest.Pytester) -> None:
    run = pytester.runpytest_inprocess
    base = ("-p", "no:cacheprovider", "--soclab-bundled")
    listed = run(*base, "--collect-only", "-q", "-k", "ATK-001 or BEN-001").outlines
    ids = [line for line in listed if "ATK-001[" in line]
    assert run(*base, ids[0]).parseoutcomes()["passed"] == 1
    results = json.loads((pytester.path / ".soclab/latest/results.json").read_text())
    assert [trial["nodeid"] for trial in results["trials"]] == ids[:1]
    wrong = run(*base, ids[0].replace("::ATK-001[", "::ATK-001[no"))
    assert wrong.ret == pytest.ExitCode.USAGE_ERROR
    wrong.stderr.fnmatch_lines(["*found no such item in the bundled corpus*"])


# one agent, one folder, one process


@pytest.mark.parametrize("name", ["soclab_agent", "model"])
@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_fixture_with_params_is_refused_in_one_line(corpus: Corpus, name: str, workers: tuple[str, ...]) -> None:
    other = "" if name == "soclab_agent" else "\n@pytest.fixture\ndef soclab_agent(model):\n    return model\n"
    corpus.pytester.makeconftest(
        f"import pytest\n@pytest.fixture(params=['a', 'b'])\ndef {name}(request):\n    return request.param\n{other}"
    )
    result = corpus.run(*workers, process=bool(workers))
    assert result.ret not in (0, 3)
    text = result.stdout.str()
    assert f"conftest.py:2: the fixture '{name}' has 2 params, expected none: a session tests one agent" in text
    assert "no parameter defined" not in text


def test_two_sessions_never_write_into_one_folder(corpus: Corpus) -> None:
    live(corpus, "time.sleep(30)")
    sessions = corpus.pytester.path / ".soclab" / "sessions"
    first = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "BEN-001"],
        cwd=corpus.pytester.path, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until = time.monotonic() + 60
        while not list(sessions.glob("*/session.jsonl")) and time.monotonic() < until:
            time.sleep(0.1)
        (running,) = list(sessions.glob("*/session.jsonl"))
        live(corpus, "return None")
        assert corpus.run("-k", "ATK-001").ret == 1, "a second session has a folder of its own"
        assert len(list(sessions.glob("*/session.jsonl"))) == 2
        assert "ATK-001" not in running.read_text(encoding="utf-8").partition("trial_ended")[2]
    finally:
        first.kill()
        first.wait()


def test_a_second_session_in_one_process_reads_the_corpus_anew(corpus: Corpus) -> None:
    corpus.run()
    before = corpus.results()
    text = (
        ATTACK.replace("ATK-001", "ATK-002")
        .replace("disable svc-backup at once", "switch svc-backup off")
        .replace("sofort sperren", "bitte sperren")
    )
    corpus.write("ATK-002-note.yaml", text)
    corpus.run()
    after = corpus.results()
    assert (before["counts"]["corpus"], after["counts"]["corpus"]) == (2, 3)
    assert before["digests"]["corpus"] != after["digests"]["corpus"]


def test_artifacts_stand_beside_the_rootdir_wherever_pytest_is_called(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    (corpus.pytester.path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.chdir(corpus.root / "attacks")
    corpus.run()
    assert corpus.results()["counts"]["selected"] == 1
    corpus.run("--soclab-artifacts=here")
    assert (corpus.root / "attacks" / "here" / "latest" / "results.json").exists()


# time


@pytest.mark.parametrize(
    "work",
    [
        "await asyncio.to_thread(time.sleep, 600)",
        "await asyncio.get_running_loop().run_in_executor(None, time.sleep, 600)",
    ],
)
def test_an_agent_that_was_given_up_does_not_keep_the_process(corpus: Corpus, work: str) -> None:
    corpus.pytester.makeconftest(LIVE.format(investigate=f"async def investigate(self, case, soc):\n        {work}"))
    started = time.monotonic()
    result = corpus.run("-k", "BEN-001", "--soclab-timeout=0.5", process=True)
    assert result.ret == 1
    assert time.monotonic() - started < 300


def test_time_in_a_debugger_is_not_the_agents(corpus: Corpus) -> None:
    live(corpus, "breakpoint()", "soc.call('siem.search', {'query': 'user:alex.rivera'})")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-s",
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        "BEN-001",
        "--soclab-timeout=1",
    ]
    debugged = subprocess.Popen(
        command, cwd=corpus.pytester.path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )  # fmt: skip
    assert debugged.stdin is not None
    assert debugged.stdout is not None
    for line in debugged.stdout:
        if "investigate" in line:
            break
    time.sleep(3)
    output, _ = debugged.communicate("c\n", timeout=60)
    assert "did not finish" not in output


def test_a_command_line_is_read_back_as_it_was(corpus: Corpus) -> None:
    corpus.run("-k", "ATK-001 and plain", "-v")
    again = shlex.join(corpus.results()["command"])
    assert again == "--soclab-mode=protected --soclab-no-reach -k 'ATK-001 and plain'"
    assert Path(corpus.artifacts / "results.json").is_file()


def test_a_session_of_ours_that_collects_nothing_points_at_the_bundled_corpus(pytester: pytest.Pytester) -> None:
    said = "no scenario was collected here; --soclab-bundled runs the corpus that the package brings"
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--soclab-level=L4")
    assert said in result.stdout.str()
    assert said not in pytester.runpytest_inprocess("-p", "no:cacheprovider").stdout.str()
    pytester.makepyfile("def test_own(): pass")
    assert said not in pytester.runpytest_inprocess("-p", "no:cacheprovider", "--soclab-level=L4").stdout.str()
