"""A live session is a scored run: its answers, its files, its folder as the gate reads it, tools withheld."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_soclab.base import resources
from pytest_soclab.base.errors import KnownAnswerError, UsageError
from pytest_soclab.known_answer.live import codes_of, read_folder
from pytest_soclab.known_answer.session import GateRequest, How, run_gate, run_score
from pytest_soclab.known_answer.sources import Sources
from pytest_soclab.soc.servers import registry
from pytest_soclab.soc.withholding import withheld

CASE = "BEN-104-whole-case-insider-exfiltration.yaml"
CONFTEST = """
import os
import pytest
from pytest_soclab import Claim, Finding

class Mine:
    name, model, deterministic = "mine", "model-x", True

    def investigate(self, case, soc):
        events = soc.call("siem.search", {"query": "user:tomas.novak", "limit": 50})
        account = soc.call("identity.get_account", {"user": "tomas.novak"})
        known = soc.call("intel.lookup_indicator", {"indicator": "drop.example.org"})
        cites = [piece.evidence for piece in (events, account, known) if piece.evidence]
        soc.call("identity.disable_account", {"user": "tomas.novak"}, cites)
        if os.environ.get("SLOPPY"):
            return Finding("tomas.novak took drawings.", "true_positive", [], ["T1052"], mentioned=["tomas.novak"])
        return Finding("tomas.novak took drawings.", "true_positive", [Claim("copied", cites)],
                       ["T1052.001", "T1567.002"], accused=["tomas.novak"])

@pytest.fixture
def soclab_agent():
    return Mine()
"""


class Session:
    """One folder with one whole case and an agent."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester, source = pytester, resources.scenarios()
        (pytester.path / "scenarios" / "incidents").mkdir(parents=True)
        (pytester.path / "scenarios" / "controls").mkdir()
        shutil.copy(source / "controls" / CASE, pytester.path / "scenarios" / "controls" / CASE)
        name = "insider-exfiltration.yaml"
        shutil.copy(source / "incidents" / name, pytester.path / "scenarios" / "incidents" / name)
        pytester.makeconftest(CONFTEST)

    def run(self, name: str, *options: str) -> Path:
        words = ("-p", "no:cacheprovider", "--soclab-no-reach", f"--soclab-artifacts={name}")
        self.pytester.runpytest_inprocess(*words, *options)
        return self.pytester.path / name

    def results(self, folder: Path) -> dict[str, Any]:
        return json.loads((folder / "latest" / "results.json").read_text(encoding="utf-8"))


@pytest.fixture
def session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_soclab.plugin")
    return Session(pytester)


def words(folder: Path) -> dict[str, str | None]:
    (run,) = read_folder(str(folder))
    return {key: verdict.value if verdict else None for key, verdict in run.verdicts.items()}


def test_each_fact_of_the_key_is_an_item(session: Session) -> None:
    folder = session.run("a")
    found = words(folder)
    assert found["ine.verdict"] == found["ine.culprit.tomas.novak"] == found["ine.t1052.001"] == "found"
    assert found["ine.t1560.001"] == "missed"
    assert found["ine.evidence.evt-4126"] == "found"
    assert (found["ine.response.1"], found["ine.response.2"]) == ("missed", "found")
    assert found["ine.innocent.priya.nair"] == "found"


def test_the_files_say_what_the_folder_says(session: Session) -> None:
    folder = session.run("a")
    for name in ("score.md", "score.json"):
        (run,) = run_score((str(folder / "latest" / "scores" / "run-1" / name),), None, How()).runs
        assert {key: v.value if v else None for key, v in run.verdicts.items()} == words(folder)


def test_own_analysis_and_lookup_come_from_what_the_finding_cites(session: Session) -> None:
    folder = session.run("a")
    (run,) = read_folder(str(folder))
    (stored,) = run_score((str(folder / "latest" / "scores" / "run-1" / "score.md"),), None, How()).runs
    assert run.provenance is not None
    assert stored.provenance is not None
    assert run.provenance.tags == stored.provenance.tags
    assert run.provenance.tags["ine.verdict"] == "own analysis + lookup"
    assert run.provenance.tags["ine.evidence.evt-4126"] == "own analysis"


def test_what_an_agent_no_longer_finds_drops(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    before = session.run("a")
    monkeypatch.setenv("SLOPPY", "1")
    after = session.run("b")
    gate = run_gate(GateRequest((str(before),), (str(after),)))
    dropped = {item.item for item in gate.items if item.outcome.value == "dropped"}
    assert {"ine.t1052.001", "ine.culprit.tomas.novak", "ine.evidence.evt-4126"} <= dropped
    assert words(after)["ine.t1052.001"] == "partly (body)" or words(after)["ine.t1052.001"] == "missed"
    assert not run_gate(GateRequest((str(before),), (str(before),))).dropped


def test_runs_of_one_deterministic_agent_are_runs_and_a_copy_is_none(session: Session) -> None:
    one, two = session.run("a"), session.run("b")
    assert len(Sources().arm((str(one), str(two)), "baseline")) == 2
    shutil.copytree(one, session.pytester.path / "c")
    with pytest.raises(KnownAnswerError, match="a copy of"):
        Sources().arm((str(one), str(session.pytester.path / "c")), "baseline")


def test_each_repetition_is_a_run(session: Session) -> None:
    folder = session.run("a", "--soclab-repeat=2")
    assert [run.name for run in read_folder(str(folder))] == ["a", "a#run-2"]
    assert (folder / "latest" / "scores" / "run-2" / "score.md").exists()


def test_an_edited_transcript_or_score_is_refused(session: Session) -> None:
    folder = session.run("a")
    score = folder / "latest" / "scores" / "run-1" / "score.md"
    whole = score.read_text(encoding="utf-8")
    score.write_text(whole.replace("| missed |", "| found |", 1), encoding="utf-8")
    with pytest.raises(KnownAnswerError, match="another score than the transcripts hold"):
        read_folder(str(folder))
    score.unlink()
    path = folder / "latest" / "transcripts" / "BEN-104-plain-protected.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace('"word":"missed"', '"word":"found"'), encoding="utf-8")
    with pytest.raises(KnownAnswerError, match="transcript"):
        read_folder(str(folder))
    path.unlink()
    with pytest.raises(KnownAnswerError, match="is not there"):
        read_folder(str(folder))


def test_a_folder_without_a_whole_case_is_no_run(session: Session, tmp_path: Path) -> None:
    with pytest.raises(KnownAnswerError, match="a directory without a session"):
        read_folder(str(tmp_path))
    (session.pytester.path / "conftest.py").unlink()
    folder = session.run("scripted")
    assert not (folder / "latest" / "scores").exists()
    with pytest.raises(KnownAnswerError, match="without a whole case of a live agent"):
        read_folder(str(folder))


def test_a_withheld_tool_is_gone_and_the_session_says_so(session: Session) -> None:
    folder = session.run("off", "--soclab-withhold=lookup")
    results = session.results(folder)
    assert "tools were withheld from the agent (lookup)" in results["level"]["why"][0]
    assert "--soclab-withhold=lookup" in results["command"]
    (run,) = read_folder(str(folder))
    assert "intel.lookup_indicator" in run.notes[0]
    assert run.provenance is not None
    assert not [tag for tag in run.provenance.tags.values() if "lookup" in tag]
    text = (folder / "latest" / "transcripts" / "BEN-104-plain-protected.jsonl").read_text(encoding="utf-8")
    assert '"unknown_tool"' in text


def test_withholding_from_nobody_fails(session: Session) -> None:
    (session.pytester.path / "conftest.py").unlink()
    result = session.pytester.runpytest_inprocess("-p", "no:cacheprovider", "--soclab-withhold=lookup")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*--soclab-withhold took nothing away: no agent of yours ran*"])


@pytest.mark.parametrize(
    ("asked", "gone"),
    [
        ("reputation_lookup", {"intel.lookup_indicator", "intel.lookup_file"}),
        ("catalog", {"catalog.describe"}),
        ("memory.recall", {"memory.recall"}),
    ],
)
def test_tools_are_withheld_by_kind_server_or_name(asked: str, gone: set[str]) -> None:
    assert withheld(registry(), [asked]) == gone


def test_every_lookup_is_withheld_also_the_one_that_sends_a_sample() -> None:
    assert "malware.submit_sample" in withheld(registry(), ["lookup"])


@pytest.mark.parametrize("asked", ["lookups", "", "siem.serach"])
def test_an_unknown_name_withholds_nothing_and_is_refused(asked: str) -> None:
    with pytest.raises(UsageError, match="--soclab-withhold: found"):
        withheld(registry(), [asked])


def test_names_of_incidents_are_short_where_that_tells_them_apart() -> None:
    assert codes_of(["identity-compromise", "business-email-compromise", "insider-exfiltration", "worm"]) == {
        "identity-compromise": "IDC", "business-email-compromise": "BEC", "insider-exfiltration": "INE", "worm": "WOR",
    }  # fmt: skip
    assert codes_of(["a-b-c", "a-b-d", "a-x-c", "a-c-c"])["a-b-c"] == "ABC"
    assert codes_of(["worm-one-a", "web-old-app"]) == {"worm-one-a": "worm-one-a", "web-old-app": "web-old-app"}
