"""Whole sessions that decide in a real OPA: the same results, and never an allowance when it fails."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_soclab.policy.process import start_opa

from .conftest import Corpus

SABOTEUR = """
import os, signal, urllib.request
import pytest
from pytest_soclab.fronts.scripted import Obey

DONE = []

@pytest.fixture
def soclab_agent(request, soclab_policy):
    if not DONE:
        DONE.append(1)
        {action}
    return request.node.unit.obey()
"""


@pytest.fixture(scope="module")
def opa() -> str:
    found = os.environ.get("SOCLAB_OPA") or shutil.which("opa")
    if not found or not Path(found).is_file():
        pytest.fail("no OPA to test against: put opa 1.x on PATH or set SOCLAB_OPA to its path", pytrace=False)
    return found


@pytest.fixture
def server(opa: str) -> Iterator[object]:
    with start_opa(opa) as running:
        yield running


def test_a_session_through_opa_gives_the_same_trials(corpus: Corpus, opa: str) -> None:
    corpus.run()
    embedded = corpus.results()
    result = corpus.run(f"--soclab-opa-binary={opa}")
    result.assert_outcomes(passed=3)
    through = corpus.results()
    assert through["trials"] == embedded["trials"]
    assert through["level"] == embedded["level"]
    assert (through["policy"]["engine"], embedded["policy"]["engine"]) == ("server", "embedded")


def test_two_workers_through_one_opa(corpus: Corpus, server: object) -> None:
    result = corpus.run(f"--soclab-opa-url={server.url}", "-n", "2", process=True)  # type: ignore[attr-defined]
    result.assert_outcomes(passed=3)
    assert corpus.results()["level"]["recommended"] == "L1"


def test_an_opa_that_dies_midway_allows_nothing(corpus: Corpus, server: object) -> None:
    pid = server.process.pid if hasattr(server, "process") else server._process.pid  # type: ignore[attr-defined]
    corpus.pytester.makeconftest(SABOTEUR.format(action=f"os.kill({pid}, signal.SIGKILL)"))
    result = corpus.run(f"--soclab-opa-url={server.url}")  # type: ignore[attr-defined]
    assert result.ret == 1
    result.assert_outcomes(failed=3)
    transcripts = corpus.artifacts / "transcripts"
    text = "".join(path.read_text() for path in transcripts.iterdir())
    assert '"policy_unavailable"' in text
    assert '"type":"receipt"' not in text
    assert corpus.results()["level"]["recommended"] is None


def test_a_policy_that_changes_midway_ends_the_run_as_changed(corpus: Corpus, server: object) -> None:
    url = server.url  # type: ignore[attr-defined]
    action = (
        f"urllib.request.urlopen(urllib.request.Request('{url}/v1/policies/other', method='PUT', "
        "data=b'package soclab.gateway\\n\\nextra := 1\\n'))"
    )
    corpus.pytester.makeconftest(SABOTEUR.format(action=action))
    result = corpus.run(f"--soclab-opa-url={url}")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*policy_changed*"])
    assert corpus.results()["level"]["recommended"] is None


def test_a_binary_that_is_none_is_a_usage_error(corpus: Corpus) -> None:
    result = corpus.run("--soclab-opa-binary=nowhere/opa", process=True)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*nowhere/opa*"])
