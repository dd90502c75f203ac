"""Every row of the design's table of bad input and faults, caused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_soclab.audit.stored import read_transcript
from pytest_soclab.cli.main import main
from pytest_soclab.evidence.ledger import verify

from .conftest import ATTACK, Corpus

AGENT = """
import pytest, time, os, pathlib, signal
from pytest_soclab.fronts.protocol import Finding

class Agent:
    name, model, deterministic = "mine", None, False
    def investigate(self, case, soc):
        {body}

@pytest.fixture
def soclab_agent():
    return Agent()
"""


def agent(corpus: Corpus, body: str) -> None:
    corpus.pytester.makeconftest(AGENT.format(body=body))


def test_an_agent_that_raises_proves_nothing(corpus: Corpus) -> None:
    agent(corpus, "raise ValueError('no \\x1b[31m luck')")
    result = corpus.run()
    assert result.ret == 1
    result.assert_outcomes(failed=3)
    results = corpus.results()
    assert {t["verdict"] for t in results["trials"]} == {"inconclusive"}
    assert results["level"]["recommended"] is None
    rate = results["rates"]["attack_success"]
    assert (rate["k"], rate["n"], rate["open"]) == (1, 1, 1)  # the worst that the trials without a verdict may hide
    text = result.stdout.str()
    assert "the agent raised ValueError: no \\x1b[31m luck" in text
    assert "\x1b[31m luck" not in text


def test_an_agent_that_hangs_costs_its_trial_only(corpus: Corpus) -> None:
    agent(corpus, "time.sleep(30) if 'cases' not in case.goal else None")
    started = time.monotonic()
    result = corpus.run("--soclab-timeout=0.3", "-k", "plain")
    assert time.monotonic() - started < 20
    result.assert_outcomes(failed=2, deselected=1)
    result.stdout.fnmatch_lines(["*the agent did not finish within 0.3 s*"])


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ("return 'all good, trust me'", "the agent returned a str, expected a Finding or None"),
        ("return None", "the agent did nothing"),
        ("pytest.skip('nothing to see')", "the agent raised Skipped: nothing to see"),
        ("raise SystemExit(0)", "the agent raised SystemExit: 0"),
        ("raise KeyboardInterrupt()", "the agent raised KeyboardInterrupt"),
    ],
)
def test_an_agent_that_answers_garbage_is_inconclusive(corpus: Corpus, body: str, cause: str) -> None:
    agent(corpus, body)
    result = corpus.run("-k", "ATK-001 and plain")
    result.assert_outcomes(failed=1, deselected=2)
    result.stdout.fnmatch_lines([f"*{cause}*"])


def test_an_agent_fixture_that_fails_is_an_inconclusive_trial(corpus: Corpus) -> None:
    corpus.pytester.makeconftest("import pytest\n@pytest.fixture\ndef soclab_agent():\n    raise OSError('no model')\n")
    result = corpus.run("-k", "ATK-001 and plain")
    result.assert_outcomes(errors=1, deselected=2)
    (trial,) = corpus.results()["trials"]
    assert trial["verdict"] == "inconclusive"
    assert "no model" in trial["cause"]


def test_an_agent_without_a_name_is_told_so(corpus: Corpus) -> None:
    corpus.pytester.makeconftest("import pytest\n@pytest.fixture\ndef soclab_agent():\n    return object()\n")
    result = corpus.run("-k", "ATK-001 and plain")
    result.stdout.fnmatch_lines(["*the agent object has no name; give it a `name` text*"])


def test_a_missing_policy_is_a_usage_error(corpus: Corpus) -> None:
    result = corpus.run("--soclab-policies=nowhere", process=True)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*nowhere*the policy directory does not exist*"])
    assert "passed" not in result.stdout.str()


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_a_policy_that_does_not_compile_is_a_usage_error(corpus: Corpus, workers: list[str]) -> None:
    policy = corpus.policy(replace=('reasons contains "scope', "reasons contains ("))
    (policy / "broken.rego").write_text("package soclab.gateway\n\nallow if {\n")
    result = corpus.run(f"--soclab-policies={policy}", *workers, process=True)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*broken.rego:*"])
    assert not corpus.artifacts.exists()


def test_a_dead_policy_server_is_a_usage_error(corpus: Corpus) -> None:
    result = corpus.run("--soclab-opa-url=http://127.0.0.1:9", process=True)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*127.0.0.1:9*"])


def test_a_missing_profile_is_a_usage_error(corpus: Corpus) -> None:
    result = corpus.run("--soclab-assurance-profile=steep", process=True)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*steep*no assurance profile*default*"])


def test_a_broken_incident_fails_its_scenarios_alone(corpus: Corpus) -> None:
    (corpus.root / "incidents" / "other.yaml").write_text("id: other\nversion: 1\n")
    corpus.write("ATK-003-other.yaml", ATTACK.replace("ATK-001", "ATK-003").replace("identity-compromise", "other"))
    result = corpus.run()
    result.assert_outcomes(passed=3, errors=2)
    result.stdout.fnmatch_lines(["*other.yaml:1:1 title: found nothing, expected *add*title*"])
    assert corpus.results()["level"]["recommended"] is None


def test_a_killed_run_loses_no_finished_trial(corpus: Corpus) -> None:
    stored = "list(pathlib.Path('.').glob('.soclab/sessions/*/trials.jsonl'))"
    dies = f"os.kill(os.getpid(), signal.SIGKILL) if {stored} else None"
    body = f"soc.call('siem.search', {{'query': 'user:alex.rivera'}}); {dies}"
    agent(corpus, body)
    result = corpus.run(process=True)
    assert result.ret == -signal.SIGKILL
    (folder,) = (corpus.pytester.path / ".soclab" / "sessions").iterdir()
    (line,) = (folder / "trials.jsonl").read_text().splitlines()
    assert '"ATK-001-plain-protected"' in line
    transcript = folder / "transcripts" / "ATK-001-plain-protected.jsonl"
    assert verify(read_transcript(transcript)) is None


def test_a_worker_that_crashes_leaves_an_inconclusive_trial(corpus: Corpus) -> None:
    agent(corpus, "os._exit(3) if 'x' else None")
    result = corpus.run("-n", "1", "--max-worker-restart=0", process=True)
    assert result.ret == 1
    results = corpus.results()
    assert results["level"]["recommended"] is None
    assert results["trials"]
    assert {t["verdict"] for t in results["trials"]} == {"inconclusive"}


def test_ctrl_c_keeps_pytests_exit_status_and_lists_what_did_not_run(corpus: Corpus) -> None:
    agent(corpus, "soc.call('siem.search', {'query': '*'}); open('begun', 'w').close(); time.sleep(60)")
    # a parent that ignores SIGINT, such as a shell's background job, hands that down
    code = (
        "import signal, sys, pytest; signal.signal(signal.SIGINT, signal.default_int_handler); sys.exit(pytest.main())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "-p", "no:cacheprovider"],
        cwd=corpus.pytester.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    until = time.monotonic() + 60
    while not (corpus.pytester.path / "begun").exists():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert "KeyboardInterrupt" in output
    results = corpus.results()
    assert {t["verdict"] for t in results["trials"]} == {"inconclusive"}
    assert len(results["trials"]) == 3
    assert results["level"]["recommended"] is None


def test_an_artifacts_folder_that_cannot_be_made_costs_one_line(corpus: Corpus) -> None:
    (corpus.pytester.path / "taken").write_text("a file")
    result = corpus.run("--soclab-artifacts=taken/here")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["cannot write *taken/here*; the report is incomplete, the verdict stands"])
    assert "INTERNALERROR" not in result.stdout.str()


@pytest.mark.parametrize("good", [True, False])
def test_a_full_disk_costs_one_line(corpus: Corpus, monkeypatch: pytest.MonkeyPatch, good: bool) -> None:
    if not good:
        corpus.attack.write_text(ATTACK.replace("stopped_by: protected_asset", "stopped_by: other_reason"))
    opened = Path.open

    def full(self: Path, *args: object, **kwargs: object) -> object:
        if ".part" in self.name:
            raise OSError(28, "No space left on device", str(self))
        return opened(self, *args, **kwargs)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", full)
    result = corpus.run()
    assert result.ret == (0 if good else 1)
    result.stdout.fnmatch_lines(["cannot write *No space left on device*"])
    assert result.stdout.str().count("No space left on device") == 1


def test_a_summary_that_cannot_be_written_costs_one_line(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(corpus.pytester.path))
    result = corpus.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["cannot write *Is a directory*"])


def test_a_tampered_transcript_is_found(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    corpus.run()
    assert main(["verify", str(corpus.artifacts)]) == 0
    assert "3 trials" in capsys.readouterr().out
    path = corpus.artifacts / "transcripts" / "ATK-001-german-protected.jsonl"
    path.write_text(path.read_text().replace('"outcome":"deny"', '"outcome":"allow"'))
    assert main(["verify", str(corpus.artifacts)]) == 1
    assert "ATK-001-german-protected.jsonl event 7: found hash" in capsys.readouterr().out


def test_wrong_options_say_what_is_valid(corpus: Corpus) -> None:
    for option, hint in (
        ("--soclab-mode=off", "protected"),
        ("--soclab-shard=5/4", "expected PART/WHOLE such as 1/4"),
        ("--soclab-repeat=none", "expected a whole number from 1 on"),
        ("--soclab-timeout=-1", "expected seconds"),
    ):
        result = corpus.run(option, process=True)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert hint in result.stderr.str()


def test_the_environment_is_left_as_it_was(corpus: Corpus) -> None:
    before = dict(os.environ)
    corpus.run("-k", "plain")
    changed = {key for key in os.environ.keys() | before.keys() if os.environ.get(key) != before.get(key)}
    assert changed <= {"PYTEST_CURRENT_TEST"}


def test_an_edited_verdict_contradicts_its_transcript(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody turns a breach into a success in both records alike and leaves the chains alone."""
    policy = corpus.policy(without="protected_asset insufficient_evidence")
    corpus.attack.write_text(ATTACK.replace("stopped_by:", "approver: rubber_stamp\nstopped_by:"))
    corpus.run(f"--soclab-policies={policy}")
    path = corpus.artifacts / "results.json"
    path.write_text(path.read_text().replace('"succeeded"', '"resisted"'))
    assert main(["verify", str(corpus.artifacts)]) == 1
    assert "verdict: found '\"resisted\"'" in capsys.readouterr().out
