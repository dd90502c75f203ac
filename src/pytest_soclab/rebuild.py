"""Reads a stored session back: checks its chains, rebuilds its report, gives out its recorded decisions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_soclab import artifacts, ledger
from pytest_soclab.artifacts import TranscriptFolder, load_results
from pytest_soclab.assemble import Facts, results_of
from pytest_soclab.assurance.gates import KNOWN_ANSWER
from pytest_soclab.assurance.gates import gates as gates_of
from pytest_soclab.assurance.ladder import Evidence, decide
from pytest_soclab.assurance.profile import load_profile
from pytest_soclab.assurance.units import rates
from pytest_soclab.errors import ArtifactError, UsageError, printable
from pytest_soclab.ledger import Event
from pytest_soclab.policy.ablation import Record, record_of
from pytest_soclab.record import Arm, Results, Trial
from pytest_soclab.report.merge import Joined, merge


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
    faults += (f"{folder / artifacts.RESULTS}: {fault}" for fault in _record_faults(results))
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
    except UnicodeDecodeError as error:
        raise ArtifactError(f"{path}: byte {error.start} is not UTF-8, expected a transcript") from None
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
    lines = path.read_bytes().splitlines() if path.is_file() else []
    for number, line in enumerate(lines, 1):
        try:
            trial = Trial.model_validate_json(line)
        except ValueError:
            yield f"{path}:{number}: found no trial record"
            continue
        seen.add(trial.id)
        if trial.id not in expected:
            yield f"{path}:{number}: {printable(trial.id)} is not in results.json"
        elif trial != expected[trial.id]:
            yield f"{path}:{number}: {trial.id} differs from results.json"
    for name in sorted(set(expected) - seen):
        yield f"{path}: no line for {name}"


def _record_faults(results: Results) -> Iterator[str]:
    """Compare what the results say in sum with what their trials say: rates, gates, and no level above the evidence."""
    protected = [trial for trial in results.trials if trial.arm is Arm.PROTECTED]
    if results.rates != rates(results.trials if results.mode == "baseline" else protected):
        yield "the rates are not those of its trials"
    try:
        profile, digest = load_profile(results.level.profile.partition("/")[0])
    except UsageError:
        return
    if digest != results.digests.profile:
        return
    stored = tuple(gate for gate in results.gates if gate.name != KNOWN_ANSWER)
    if results.mode != "known-answer" and stored != gates_of(profile.gates, protected):
        yield "the gates are not those of its trials"
    whole = not results.counts.errors and 0 < results.counts.corpus <= results.counts.run
    evidence = Evidence(protected, results.gates, whole, "", results.agent.deterministic, results.level.basis)
    supported, said = decide(evidence, profile, results.level.tested).recommended, results.level.recommended
    if said is not None and (supported is None or said.rank > supported.rank):
        yield f"found the level {said.value}, expected at most {supported.value if supported else 'none'}"


def rebuild(folder: Path, previous: Results | None = None) -> list[Path]:
    """Write `report.html` and `summary.md` of a stored session anew and return their paths."""
    return write_report(folder, load_results(folder), previous)


def write_report(folder: Path, results: Results, previous: Results | None = None) -> list[Path]:
    """Render a record and the folder's transcripts into the folder.

    Raises:
        ArtifactError: when a file cannot be written.
    """
    from pytest_soclab.report import html, summary

    out = artifacts.Artifacts(folder, fresh=False)
    out.write(artifacts.REPORT, html.render(results, TranscriptFolder(folder)))
    out.write(artifacts.SUMMARY, summary.render(results, previous))
    if out.trouble:
        raise ArtifactError(out.trouble)
    return [folder / artifacts.REPORT, folder / artifacts.SUMMARY]


def decisions(folder: Path) -> list[Record]:
    """Return every decision that a session's transcripts hold, in the order of its trials."""
    results = load_results(folder)
    transcripts = TranscriptFolder(folder)
    return [
        record_of(trial.id, event["data"], trial.expected_stop or "")
        for trial in results.trials
        for event in transcripts.get(trial.id, [])
        if event["type"] == "decision"
    ]


def merge_folders(folders: Sequence[Path], out: Path) -> Results:
    """Join the stored shards of one session in a new folder, with level and report decided anew.

    Raises:
        ArtifactError: when a shard cannot be read, or the folder exists with something in it or cannot be written.
        UsageError: when the shards are not of one session, or a trial is in two.
    """
    if out.exists() and any(out.iterdir()):
        raise ArtifactError(f"{out}: found files, expected a new or empty folder; name another with -o")
    shards = [load_results(folder) for folder in folders]
    results = merge(shards, lambda joined: _decide(joined, shards))
    written = artifacts.Artifacts(out)
    for folder, shard in zip(folders, shards, strict=True):
        transcripts = TranscriptFolder(folder)
        for trial in shard.trials:
            if trial.root_hash:
                written.append(trial.model_dump(mode="json"), transcripts.get(trial.id, []))
    written.write(artifacts.RESULTS, artifacts.results_text(results))
    if written.trouble:
        raise ArtifactError(written.trouble)
    write_report(out, results)
    return results


def _decide(joined: Joined, shards: Sequence[Results]) -> Results:
    profile, digest = load_profile(joined.profile.partition("/")[0])
    if digest != joined.digests.profile:
        raise ArtifactError(f"the assurance profile {joined.profile} is not the one that the shards were measured with")
    gates = (gate for shard in shards for gate in shard.gates if gate.name == KNOWN_ANSWER)
    agent = joined.agent.model_dump(mode="json")
    facts = Facts(
        mode=shards[0].mode, level=joined.tested, command=joined.command, trials={t.id: t for t in joined.trials},
        agents=[agent], policy=joined.policy, corpus=joined.counts.corpus, selected=joined.counts.selected,
        errors=joined.counts.error_texts, known_answer=joined.known_answer, known_gate=next(gates, None),
        digests=joined.digests,
        control_trials={t.id: t for shard in shards for t in shard.control_trials},
        partial=frozenset(name for shard in shards for name in shard.counts.partial),
    )  # fmt: skip
    return results_of(facts, profile, digest, joined.timing)
