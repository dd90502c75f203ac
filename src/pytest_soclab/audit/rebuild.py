"""Writes from stored sessions: their report anew, several shards as one session, the decisions that they hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_soclab.audit import merge
from pytest_soclab.audit.stored import Attempt, Stored
from pytest_soclab.audit.verify import Inspected, results_of_stored, sound, verify
from pytest_soclab.base.errors import ArtifactError
from pytest_soclab.evidence import folders, store
from pytest_soclab.evidence.results import Results
from pytest_soclab.evidence.session_log import (
    Fact,
    InputKept,
    SessionEnded,
    SessionLog,
    SessionStarted,
    TrialEnded,
    line_of,
)
from pytest_soclab.evidence.store import Artifacts, TranscriptFolder, load_results
from pytest_soclab.policy.ablation import Record, record_of


def rebuild(path: Path) -> list[Path]:
    """Write `results.json`, `report.html` and `summary.md` of a stored session anew and return their paths.

    A session that was killed is written as far as it came.

    Raises:
        ArtifactError: when its evidence does not hold together, or a file cannot be written.
    """
    found = sound(path)
    folder = found.session.folder
    if folders.is_running(folder):
        raise ArtifactError(f"{folder}: the session is still running; wait for its end")
    return write(folder, _results(found), found.session)


def _results(found: Inspected) -> Results:
    assert found.results is not None, "a session that is sound has results"
    return found.results


def write(folder: Path, results: Results, session: Stored | None = None) -> list[Path]:
    """Write the record of a session and what it renders to.

    Raises:
        ArtifactError: when a file cannot be written.
    """
    from pytest_soclab.known_answer import live
    from pytest_soclab.report import html, summary

    inputs = session.inputs if session is not None else {}
    previous = load_results(inputs[store.PREVIOUS]) if store.PREVIOUS in inputs else None
    out = Artifacts.into(folder)
    out.write(store.RESULTS, store.results_parts(results))
    out.write(store.REPORT, html.render(results, TranscriptFolder(folder), previous))
    out.write(store.SUMMARY, summary.render(results, previous))
    for name, text in live.files(results, TranscriptFolder(folder)):
        out.write(name, text)
    if out.trouble:
        raise ArtifactError(out.trouble)
    return [folder / store.REPORT, folder / store.SUMMARY]


def decisions(path: Path) -> list[Record]:
    """Return every decision that a session's transcripts hold, in the order of its trials."""
    results = load_results(path)
    transcripts = TranscriptFolder(path)
    return [
        record_of(trial.id, event["data"], trial.expected_stop or "")
        for trial in results.trials
        for event in transcripts.get(trial.id, [])
        if event["type"] == "decision"
    ]


def merge_folders(paths: Sequence[Path], out: Path) -> Results:
    """Join the stored shards of one session in a new folder: one log of all that they know, and what follows from it.

    Raises:
        ArtifactError: when a shard does not verify, or the folder exists with something in it or cannot be written.
        UsageError: when the shards are not of one session, or a trial is in two.
    """
    if out.exists() and any(out.iterdir()):
        raise ArtifactError(f"{out}: found files, expected a new or empty folder; name another with -o")
    faults = [fault for path in paths for fault in verify(path).faults]
    if faults:
        raise ArtifactError(*faults)
    found = [sound(path) for path in paths]
    merge.agree([_results(one) for one in found])
    joined = _Joined(Artifacts.into(out), [one.session for one in found])
    joined.write([_results(one) for one in found])
    if joined.artifacts.trouble:
        raise ArtifactError(joined.artifacts.trouble)
    whole = sound(out)
    write(out, results_of_stored(whole.session))
    return load_results(out)


class _Joined:
    """Writes the log of several sessions as the log of one."""

    def __init__(self, artifacts: Artifacts, shards: Sequence[Stored]) -> None:
        self.artifacts = artifacts
        self.shards = shards
        self.log = SessionLog()
        self.kept: set[str] = set()

    def write(self, results: Sequence[Results]) -> None:
        """Write log, inputs, records and transcripts."""
        self._log(self._start())
        for shard in self.shards:
            self._inputs(shard)
        for shard in self.shards:
            self._facts(shard)
        self._log(SessionEnded(timing=merge.timing_of(results)))

    def _start(self) -> SessionStarted:
        first = self.shards[0].start
        command = tuple(word for word in first.command if not word.startswith("--soclab-shard"))
        names = sorted({name for shard in self.shards for name in shard.start.extensions})
        update = {"shards": tuple(shard.log.root for shard in self.shards), "command": command}
        return first.model_copy(update={**update, "extensions": tuple(names)})

    def _log(self, fact: Fact) -> None:
        self.artifacts.add(store.LOG, self.log.append(fact))

    def _inputs(self, shard: Stored) -> None:
        for name, path in shard.inputs.items():
            if name not in self.kept and name != store.PREVIOUS:
                self.kept.add(name)
                self._log(InputKept(path=name, sha256=self.artifacts.keep(name, path.read_bytes())))

    def _facts(self, shard: Stored) -> None:
        attempts = iter(shard.attempts)
        for fact in shard.log.facts:
            if isinstance(fact, TrialEnded):
                self._attempt(shard, next(attempts))
            if not isinstance(fact, SessionStarted | SessionEnded | InputKept):
                self._log(fact)

    def _attempt(self, shard: Stored, attempt: Attempt) -> None:
        if attempt.trial.root_hash:
            self._copy(shard, shard.transcript(attempt))
        if attempt.control is not None:
            self._copy(shard, shard.control_transcript(attempt))
            self.artifacts.add(store.CONTROL_TRIALS, line_of(attempt.control.model_dump(mode="json")))
        self.artifacts.add(store.TRIALS, line_of(attempt.trial.model_dump(mode="json")))

    def _copy(self, shard: Stored, path: Path) -> None:
        text = path.read_bytes().decode("utf-8", "surrogatepass")
        self.artifacts.write(str(path.relative_to(shard.folder)), text)
