"""`--soclab-plan`: what a session will take, before anything runs."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Corpus


def test_without_a_stored_session_only_the_trials_are_known(corpus: Corpus) -> None:
    result = corpus.run("--soclab-plan")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*3 trials; no stored session in .soclab says what a trial takes*"])
    assert not corpus.artifacts.exists()
    result.assert_outcomes()


def test_a_stored_session_tells_what_the_next_takes(corpus: Corpus) -> None:
    corpus.run("-k", "plain")
    before = {path: path.read_bytes() for path in corpus.artifacts.rglob("*") if path.is_file()}
    result = corpus.run("--soclab-plan")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*3 trials: 6 calls, 0 tokens, $0.00, * s, *; told from 2 of these*"])
    assert {path: path.read_bytes() for path in corpus.artifacts.rglob("*") if path.is_file()} == before


def test_tokens_and_money_are_what_the_proxy_counted(tmp_path: Path) -> None:
    from pytest_soclab.audit.plan import Taken, _taken

    events = [{"type": "proposal", "data": {}}, {"type": "annex", "data": {"model": {"tokens": 220, "cost": "0.5"}}}]
    assert _taken(1.5, json.loads(json.dumps(events))) == Taken(1.5, 1, 220, 0.5)
