"""Reads a stored session back: checks its chains, rebuilds its report, gives out its recorded decisions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_soclab import artifacts, ledger
from pytest_soclab.artifacts import TranscriptFolder, load_results
from pytest_soclab.errors import ArtifactError, printable
from pytest_soclab.ledger import Event
from pytest_soclab.record import Results, Trial


@dataclass(frozen=True, slots=True)
class Verified:
    """What the check of a stored session found; `faults` is empty where everything holds."""

    trials: int
    events: int
    faults: tuple[str, ...]


def verify(folder: Path) -> Verified:
    """Recheck every chain of a session against the root hashes that its results name.

    Raises:
        ArtifactError: when there are no results to check against.
    """
    results = load_results(folder)
    faults: list[str] = []
    events = 0
    for trial in results.trials:
        found, count = _trial_fault(folder, trial)
        faults += [found] if found else []
        events += count
    faults += _strays(folder, results)
    faults += _log_faults(folder, results)
    return Verified(len(results.trials), events, tuple(faults))


def _trial_fault(folder: Path, trial: Trial) -> tuple[str, int]:
    path = folder / artifacts.TRANSCRIPTS / f"{trial.id}.jsonl"
    if not trial.root_hash:
        return ("", 0) if not path.exists() else (f"{path}: a transcript of a trial that did not end", 0)
    try:
        events = read_transcript(path)
    except ArtifactError as error:
        return str(error), 0
    fault = ledger.verify(events, trial.root_hash)
    return (f"{path} {fault}" if fault else _mismatch(path, trial, events)), len(events)


def _mismatch(path: Path, trial: Trial, events: list[Event]) -> str:
    first = events[0]["data"] if events and isinstance(events[0].get("data"), dict) else {}
    if first.get("trial") != trial.id:
        return f"{path} event 0: found trial {printable(str(first.get('trial')))}, expected {trial.id}"
    return ""


def read_transcript(path: Path) -> list[Event]:
    """Read one transcript.

    Raises:
        ArtifactError: when it cannot be read or a line is no event.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="surrogatepass")
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read ({error.strerror}), expected a transcript") from None
    events: list[Event] = []
    for number, line in enumerate(text.split("\n")[:-1] or [text], 1):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict):
            raise ArtifactError(f"{path}:{number}: found no JSON object, expected event {number - 1}")
        events.append(event)
    return events


def _strays(folder: Path, results: Results) -> Iterator[str]:
    known = {trial.id for trial in results.trials}
    for name in TranscriptFolder(folder):
        if name not in known:
            yield f"{folder / artifacts.TRANSCRIPTS / name}.jsonl: a transcript that the results do not name"


def _log_faults(folder: Path, results: Results) -> Iterator[str]:
    """Compare the lines that were appended as trials ended with the final results."""
    path = folder / artifacts.TRIALS
    expected = {trial.id: trial for trial in results.trials if trial.root_hash}
    seen: set[str] = set()
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    for number, line in enumerate(lines, 1):
        try:
            trial = Trial.model_validate_json(line)
        except ValueError:
            yield f"{path}:{number}: found no trial record"
            continue
        seen.add(trial.id)
        if trial.id in expected and trial != expected[trial.id]:
            yield f"{path}:{number}: {trial.id} differs from results.json"
    for name in sorted(set(expected) - seen):
        yield f"{path}: no line for {name}"


def rebuild(folder: Path) -> list[Path]:
    """Write `report.html` and `summary.md` of a stored session anew and return their paths."""
    results = load_results(folder)
    return write_report(folder, results)


def write_report(folder: Path, results: Results) -> list[Path]:
    """Render a record and the folder's transcripts into the folder.

    Raises:
        ArtifactError: when a file cannot be written.
    """
    from pytest_soclab.report import html, summary

    out = artifacts.Artifacts(folder, fresh=False)
    out.write(artifacts.REPORT, html.render(results, TranscriptFolder(folder)))
    out.write(artifacts.SUMMARY, summary.render(results))
    if out.trouble:
        raise ArtifactError(out.trouble)
    return [folder / artifacts.REPORT, folder / artifacts.SUMMARY]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded decision of a protected trial."""

    trial: str
    call: int
    input: dict[str, Any]
    outcome: str
    reasons: tuple[str, ...]
    obligations: tuple[str, ...]
    expected_stop: str | None
    decisive: bool


def decisions(folder: Path) -> list[Recorded]:
    """Return every decision that a session's transcripts hold, in the order of its trials."""
    results = load_results(folder)
    transcripts = TranscriptFolder(folder)
    found = []
    for trial in results.trials:
        events = transcripts.get(trial.id, [])
        found += [_recorded(trial, event) for event in events if event["type"] == "decision"]
    return found


def _recorded(trial: Trial, event: Event) -> Recorded:
    data = event["data"]
    decisive = event["seq"] in trial.decisive
    return Recorded(
        trial.id, data["call"], data["input"], data["outcome"], tuple(data["reasons"]), tuple(data["obligations"]),
        trial.expected_stop, decisive,
    )  # fmt: skip
