"""What an option names is checked before anything is collected: pipes, secrets in addresses, a session to resume."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lab.conftest import Corpus
from pytest_soclab.cli.main import main


@pytest.fixture
def pipe(corpus: Corpus) -> str:
    os.mkfifo(corpus.pytester.path / "pipe")
    return "pipe"


@pytest.mark.parametrize("option", ["previous", "sarif", "summary"])
def test_a_pipe_is_refused_and_not_waited_for(corpus: Corpus, pipe: str, option: str) -> None:
    result = corpus.run(f"--soclab-{option}={pipe}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*pipe: --soclab-{option}: found a pipe or a device*name a file*"])


def test_a_device_without_an_end_is_no_prompt(corpus: Corpus) -> None:
    result = corpus.run("--soclab-prompt=/dev/zero", "--soclab-agent-command=true")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*/dev/zero: --soclab-prompt: found a pipe or a device*"])


@pytest.mark.parametrize(
    "options",
    [
        ("--soclab-agent-url=http://127.0.0.1:9/x?key=s3cr3t",),
        ("--soclab-agent-command=true", "--soclab-model-proxy=http://u:s3cr3t@127.0.0.1:9/v1"),
        ("--soclab-agent-command=true", "--soclab-model-proxy=http://127.0.0.1:9/v1?key=s3cr3t"),
    ],
)
def test_a_secret_in_an_address_is_refused_and_stands_nowhere(corpus: Corpus, options: tuple[str, ...]) -> None:
    result = corpus.run(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*found an address with a *expected one without*"])
    assert "s3cr3t" not in result.stderr.str() + result.stdout.str()
    written = [path for path in corpus.pytester.path.rglob("*") if path.is_file()]
    assert not [path for path in written if b"s3cr3t" in path.read_bytes()]


def test_a_session_that_is_not_there_is_not_resumed(corpus: Corpus) -> None:
    result = corpus.run("--soclab-resume=nope")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*nope: --soclab-resume: found no session's log*"])


def test_more_repeats_than_pytest_could_collect_are_refused(corpus: Corpus) -> None:
    result = corpus.run("--soclab-repeat=999999999999")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*expected at most 1000*"])


@pytest.mark.parametrize("command", [["score"], ["compare", "x"]])
def test_commands_wait_for_no_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    name, *others = command
    assert main([name, str(tmp_path / "pipe"), *others]) == 2
    assert "a pipe or a device, which may never end" in "".join(capsys.readouterr())
