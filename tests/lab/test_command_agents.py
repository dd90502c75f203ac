"""Command agents from the outside: options, ini values, workers, and what is said when they are wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Corpus

AGENT = """
import json, os, sys, urllib.request

def call(name, **arguments):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    request = urllib.request.Request(os.environ["SOCLAB_MCP_URL"], json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    answer = json.load(urllib.request.urlopen(request))
    return json.loads(answer["result"]["content"][0]["text"])

found = call("siem_search", query="user:alex.rivera")
call("siem_search", query="user:alex.rivera source:helpdesk")
call("identity_disable_account", user="alex.rivera", cites=[found["evidence"]])
print("key is", os.environ.get("MY_API_KEY"))
"""


@pytest.fixture
def script(corpus: Corpus) -> Path:
    path = corpus.pytester.path / "my_agent.py"
    path.write_text(AGENT)
    return path


def test_a_command_is_measured_as_a_live_agent(corpus: Corpus, script: Path) -> None:
    corpus.run("--soclab-agent-command", "python my_agent.py", "--soclab-agent-model=m-1").assert_outcomes(passed=3)
    results = corpus.results()
    named = {"name": "my_agent.py", "model": "m-1", "deterministic": False, "kind": "live", "subjects": []}
    assert results["agent"] == named
    assert results["level"]["basis"] == "agent"
    assert {t["verdict"] for t in results["trials"] if t["kind"] == "attack"} == {"resisted"}
    assert len(results["control_trials"]) == 3


def test_the_ini_file_may_name_it(corpus: Corpus, script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-live-0123456789")
    corpus.pytester.makeini(
        "[pytest]\nsoclab_agent_command = python my_agent.py\nsoclab_agent_env = MY_API_KEY\nsoclab_agent_name = mine\n"
    )
    corpus.run().assert_outcomes(passed=3)
    assert corpus.results()["agent"]["name"] == "mine"
    written = [path.read_bytes() for path in corpus.artifacts.rglob("*") if path.is_file()]
    assert any(b"key is [secret: MY_API_KEY]" in text for text in written)
    assert not any(b"0123456789" in text for text in written)


def test_workers_start_agents_of_their_own(corpus: Corpus, script: Path) -> None:
    result = corpus.run("--soclab-agent-command=python my_agent.py", "-n2", process=True)
    result.assert_outcomes(passed=3)
    assert corpus.results()["agent"]["name"] == "my_agent.py"


def test_a_relative_script_is_found_from_the_scratch_folder_and_arguments_stay(corpus: Corpus, script: Path) -> None:
    corpus.pytester.mkdir("deep")
    (corpus.pytester.path / "deep" / "agent.py").write_text(AGENT + "\nassert sys.argv[1:] == ['--mode', 'a b', '']\n")
    corpus.run("--soclab-agent-command", "python deep/agent.py --mode 'a b' ''").assert_outcomes(passed=3)


def test_a_fixture_and_a_command_at_once_are_refused(corpus: Corpus, script: Path) -> None:
    corpus.pytester.makeconftest(
        "import pytest\nclass Mine:\n    name, model, deterministic = 'mine', None, True\n"
        "    def investigate(self, case, soc): return None\n"
        "@pytest.fixture\ndef soclab_agent():\n    return Mine()\n"
    )
    result = corpus.run("--soclab-agent-command", "python my_agent.py")
    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines(["*the options name an agent and the fixture soclab_agent another*"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--soclab-agent-command=no-such-program x"], "*there is no program 'no-such-program'; give its path*"),
        (["--soclab-agent-command="], "*--soclab-agent-command is empty*"),
        (["--soclab-agent-command=python 'x"], "*No closing quotation; mend the quotes*"),
        (["--soclab-agent-command=python x", "--soclab-agent-env=NOT_SET_HERE"], "*NOT_SET_HERE is not set*"),
        (["--soclab-agent-command=python x", "--soclab-agent-user=no-such-user"], "*no user 'no-such-user'*"),
        (["--soclab-agent-url=x", "--soclab-agent-command=python x"], "*name two agents*"),
        (["--soclab-agent-url=ftp://x/"], "*expected an address such as http://127.0.0.1:9000/*"),
        (["--soclab-agent-url=http://me:secret@x/"], "*leave credentials out*"),
        (
            ["--soclab-agent-url=http://x/", "--soclab-agent-env=HOME"],
            "*belongs to a command, not to --soclab-agent-url*",
        ),
        (["--soclab-max-tokens=1/2", "--soclab-agent-command=python x"], "*needs the proxy*"),
        (["--soclab-record=x", "--soclab-agent-url=http://x/"], "*belongs to a command, not to*"),
        (["--soclab-replay=none", "--soclab-agent-command=python x"], "*there is no folder 'none'*"),
        (["--soclab-agent-env=HOME"], "*belong* --soclab-agent-command*"),
        (["--soclab-agent-model=x"], "*belong* --soclab-agent-command*"),
    ],
)
def test_a_wrong_option_is_a_usage_error(corpus: Corpus, words: list[str], said: str) -> None:
    result = corpus.run(*words)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([said])


def test_output_is_shown_in_the_report_as_text(corpus: Corpus) -> None:
    (corpus.pytester.path / "loud.py").write_text(AGENT + "\nprint('<script>alert(1)</script>')\n")
    corpus.run("--soclab-agent-command", "python loud.py", "-k", "BEN")
    assert "<script>alert(1)" not in (corpus.artifacts / "report.html").read_text()


def test_the_stored_session_verifies(corpus: Corpus, script: Path) -> None:
    from pytest_soclab.cli.main import main

    corpus.run("--soclab-agent-command", "python my_agent.py")
    assert main(["verify", str(corpus.artifacts)]) == 0
    lines = (corpus.artifacts / "transcripts" / "BEN-001-plain-protected.jsonl").read_text().splitlines()
    assert [json.loads(line)["type"] for line in lines[-2:]] == ["annex", "trial_ended"]


BENDS = """
from pathlib import Path
for path in Path(sys.argv[1], ".soclab").rglob("transcripts/*.jsonl"):
    path.write_text(path.read_text().replace("allow", "deny "))
"""


def test_an_agent_that_bends_earlier_transcripts_is_noticed(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    from pytest_soclab.cli.main import main

    (corpus.pytester.path / "bend.py").write_text(AGENT + BENDS)
    corpus.run("--soclab-agent-command", "python bend.py {dir}")
    assert main(["verify", str(corpus.artifacts)]) == 1
    assert "found" in capsys.readouterr().out
