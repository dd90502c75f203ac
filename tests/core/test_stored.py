"""A stored session: whatever is changed in its files, the check says so, and no file makes it fail itself."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_soclab.audit import rebuild, verify
from pytest_soclab.base.errors import ArtifactError
from pytest_soclab.evidence import ledger, store

from .test_mutations_of_evidence import make_session

NAME = "BEN-001-plain-protected"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("stored")
    make_session(home)
    (folder,) = (home / ".soclab" / "sessions").iterdir()
    return folder


@pytest.fixture
def folder(whole: Path) -> Iterator[Path]:
    copy = whole.with_name(f"{whole.name}-copy")
    shutil.copytree(whole, copy)
    yield copy
    shutil.rmtree(copy)


def faults(folder: Path) -> tuple[str, ...]:
    return verify.verify(folder).faults


def transcript(folder: Path, name: str = NAME) -> Path:
    return folder / store.TRANSCRIPTS / f"{name}.jsonl"


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def rewrite(path: Path, changed: list[str]) -> None:
    path.write_text("".join(line + "\n" for line in changed), encoding="utf-8")


def edit(path: Path) -> None:
    changed = lines(path)
    event = json.loads(changed[3])
    event["data"]["forged"] = True
    changed[3] = json.dumps(event, separators=(",", ":"))
    rewrite(path, changed)


def rechain(path: Path) -> None:
    """Change an event and chain all anew, as somebody would who knows how."""
    events = [json.loads(line) for line in lines(path)]
    events[1]["data"]["cites"] = ["ev_9999"]
    forged = ledger.Ledger()
    for event in events:
        forged.append(event["type"], event["at"], event["data"])
    path.write_text(forged.text(), encoding="utf-8")


def test_an_untouched_session_holds(folder: Path) -> None:
    found = verify.verify(folder)
    assert found.faults == ()
    assert found.trials == 3
    assert found.events > sum(len(lines(path)) for path in (folder / store.TRANSCRIPTS).iterdir()), "controls count"


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "edited": (edit, "event 3: found hash"),
    "dropped": (lambda p: rewrite(p, lines(p)[:3] + lines(p)[4:]), "event 3: found an event that does not follow"),
    "swapped": (
        lambda p: rewrite(p, [*lines(p)[:2], lines(p)[3], lines(p)[2], *lines(p)[4:]]),
        "event 2: found an event that does not follow",
    ),
    "truncated": (lambda p: rewrite(p, lines(p)[:-1]), "found a chain that ends in"),
    "cut in a line": (lambda p: p.write_bytes(p.read_bytes()[:-40]), "cut short"),
    "emptied": (lambda p: p.write_bytes(b""), "found a chain that ends in"),
    "missing": (lambda p: p.unlink(), "cannot be read (No such file or directory), expected a transcript"),
    "binary": (lambda p: p.write_bytes(b"\xff\xfe\x00\x80\n"), "event 0: found no chained event"),
    "a list": (lambda p: p.write_text("[1]\n"), "event 0: found no chained event"),
    "deep JSON": (lambda p: p.write_text("[" * 100_000 + "\n"), "event 0: found no chained event"),
    "a directory": (lambda p: (p.unlink(), p.mkdir()), "cannot be read (Is a directory)"),
    "another trial's": (
        lambda p: p.write_bytes(transcript(p.parents[1], "ATK-001-plain-protected").read_bytes()),
        "found a chain that ends in",
    ),
    "chained anew": (rechain, "found a chain that ends in"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_changed_transcript_is_found(folder: Path, case: str) -> None:
    change, words = CHANGES[case]
    change(transcript(folder))
    (fault,) = faults(folder)
    assert str(transcript(folder)) in fault
    assert words in fault


def test_a_changed_transcript_of_a_scripted_trial_beside_a_live_one_is_found(folder: Path) -> None:
    path = folder / store.CONTROLS / f"{NAME}.1.jsonl"
    edit(path)
    (fault,) = faults(folder)
    assert str(path) in fault


def test_a_stray_transcript_is_found(folder: Path) -> None:
    (folder / store.TRANSCRIPTS / "extra.jsonl").write_text("{}\n")
    (fault,) = faults(folder)
    assert fault.endswith("extra.jsonl: a transcript that session.jsonl does not name")


def test_a_verdict_that_was_changed_wherever_it_is_written_does_not_follow_from_the_transcript(folder: Path) -> None:
    """Everything is chained and hashed anew, so that only judging the transcript again can tell."""
    forge(folder, NAME, verdict="blocked")
    assert any(f"{NAME}.jsonl shows verdict" in fault for fault in faults(folder))


def test_a_gate_that_a_trial_was_no_evidence_for_does_not_follow_from_it(folder: Path) -> None:
    forge(folder, NAME, gates=["policy_outage_fail_open"])
    assert any(f"{NAME}.jsonl shows gates" in fault for fault in faults(folder))


def forge(folder: Path, name: str, **changed: object) -> None:
    """Change a trial's record and make records and log consistent with it again."""
    import hashlib

    path, log = folder / store.TRIALS, folder / store.LOG
    records = [json.loads(line) for line in lines(path)]
    for record in records:
        if record["id"] == name:
            record.update(changed)
    texts = [json.dumps(record, ensure_ascii=False, sort_keys=True) for record in records]
    rewrite(path, texts)
    chain, left = ledger.Ledger(), iter(texts)
    for line in lines(log):
        event = json.loads(line)
        if event["type"] == "trial_ended":
            event["data"]["record"] = hashlib.sha256(f"{next(left)}\n".encode()).hexdigest()
        chain.append(event["type"], event["at"], event["data"])
    log.write_text(chain.text(), encoding="utf-8")


@pytest.mark.parametrize("text", ["", "{}", "[]", "\x00", '{"format": "soclab-results/2"}'])
def test_results_that_are_none_are_found(folder: Path, text: str) -> None:
    (folder / store.RESULTS).write_text(text)
    (fault,) = faults(folder)
    assert "results.json: " in fault


def test_a_folder_without_a_log_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"session\.jsonl: cannot be read"):
        verify.verify(tmp_path)


def test_a_path_that_leads_out_of_the_inputs_is_no_input(folder: Path) -> None:
    log = folder / store.LOG
    chain = ledger.Ledger()
    for line in lines(log):
        event = json.loads(line)
        if event["type"] == "input_kept" and event["data"]["path"].endswith(".copy"):
            event["data"]["path"] = "../../" + event["data"]["path"]
        chain.append(event["type"], event["at"], event["data"])
    log.write_text(chain.text(), encoding="utf-8")
    assert any("an input outside of inputs/" in fault for fault in faults(folder))


def test_sabotage_of_the_check_is_seen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_soclab.audit.rejudge import Judge

    forge(folder, NAME, verdict="blocked")
    before = [fault for fault in faults(folder) if "shows verdict" in fault]
    monkeypatch.setattr(Judge, "fault", lambda *_args, **_more: "")
    assert before
    assert not [fault for fault in faults(folder) if "shows verdict" in fault]


def test_a_report_is_written_anew_to_the_same_bytes(folder: Path) -> None:
    pages = [folder / store.REPORT, folder / store.SUMMARY, folder / store.RESULTS]
    before = [path.read_bytes() for path in pages]
    for path in pages:
        path.unlink()
    rebuild.rebuild(folder)
    assert [path.read_bytes() for path in pages] == before
