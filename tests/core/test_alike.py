"""Repetitions with the same transcript are read once for the report, and nothing else is taken for a repetition."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_soclab.evidence.ledger import Ledger
from pytest_soclab.evidence.store import Artifacts, TranscriptFolder

FIRST, AGAIN = "ATK-001-plain-protected", "ATK-001-plain-protected-2"


def transcript(name: str, **changed: Any) -> str:
    made = Ledger()
    made.append("trial_started", 0, {"trial": name, "goal": changed.get("goal", "look")})
    made.append("proposal", 1, {"call": 1, "tool": "t", "arguments": changed.get("arguments", {"hash": "a" * 64})})
    made.append("grant", 1, {"call": 1, "grant": f"{name}/grant-{changed.get('number', 1):03d}"})
    made.append("result", 2, {"call": 1, "ok": True, "data": changed.get("data", {"note": "x"})})
    return made.text()


@pytest.fixture
def stored(tmp_path):
    def store(**changed: Any) -> TranscriptFolder:
        out = Artifacts.into(tmp_path / "session")
        out.write(f"transcripts/{FIRST}.jsonl", transcript(FIRST))
        out.write(f"transcripts/{AGAIN}.jsonl", transcript(AGAIN, **changed))
        assert not out.trouble
        return TranscriptFolder(tmp_path / "session", alike=True)

    return store


def test_a_repetition_is_given_as_the_first(stored):
    folder = stored()
    first = folder[FIRST]
    assert folder[AGAIN] is first
    assert folder[FIRST] is first


@pytest.mark.parametrize(
    "changed",
    [
        {"goal": "look again"},
        {"arguments": {"hash": "b" * 64}},
        {"arguments": {"prev": "b" * 64, "seq": 1, "type": "x", "hash": "b" * 64}},
        {"number": 2},
        {"data": {"note": f"{AGAIN}/grant-001 was spent before"}},
        {"data": {"note": "y"}},
    ],
    ids=str,
)
def test_whatever_may_be_shown_makes_a_transcript_another_one(stored, changed):
    folder = stored(**changed)
    first = folder[FIRST]
    again = folder[AGAIN]
    assert again is not first
    assert again == TranscriptFolder(folder._folder.parent)[AGAIN]


def test_a_name_at_another_place_is_never_given_for_another(stored):
    folder = stored(data={"note": AGAIN})
    assert folder[AGAIN] is not folder[AGAIN]


def test_others_get_every_transcript_itself(stored):
    folder = TranscriptFolder(stored()._folder.parent)
    assert folder[FIRST] != folder[AGAIN]
    assert folder[AGAIN][0]["data"]["trial"] == AGAIN
    assert folder.text(AGAIN) == transcript(AGAIN)
    assert folder.text("ATK-002-plain-protected") == ""
