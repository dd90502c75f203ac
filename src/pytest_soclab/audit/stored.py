"""Reads the files of a stored session by their bytes: the log, the copied inputs, the records of its trials."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from pytest_soclab.assurance.gathered import Gathered
from pytest_soclab.base.errors import ArtifactError
from pytest_soclab.evidence import folders, ledger, store
from pytest_soclab.evidence.results import Timing, Trial
from pytest_soclab.evidence.session_log import (
    InputKept,
    SessionEnded,
    SessionStarted,
    StoredLog,
    TrialEnded,
    read_log,
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a trial as it is stored: what the log says of it, its record, that of its scripted control."""

    fact: TrialEnded
    trial: Trial
    control: Trial | None


@dataclass
class Stored:
    """A session that was read back, as far as its files hold together; `faults` says where they do not."""

    folder: Path
    log: StoredLog
    gathered: Gathered
    attempts: list[Attempt] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    inputs: Mapping[str, Path] = field(default_factory=dict)

    @property
    def start(self) -> SessionStarted:
        """The first fact."""
        assert self.log.start is not None, "a session without a start is refused when it is read"
        return self.log.start

    @property
    def timing(self) -> Timing:
        """When and where it ran, with the evidence root."""
        last = self.log.facts[-1]
        timing = last.timing if isinstance(last, SessionEnded) else _unknown(self.start)
        return timing.model_copy(update={"root": self.log.root})

    def transcript(self, attempt: Attempt) -> Path:
        """Return the path of an attempt's transcript: of the one that counts among the others' apart."""
        counts = self.gathered.counted.get(attempt.trial.id) == attempt.fact.attempt
        if counts:
            return self.folder / store.TRANSCRIPTS / f"{attempt.trial.id}.jsonl"
        return self.folder / store.ATTEMPTS / f"{attempt.trial.id}.{attempt.fact.attempt}.jsonl"

    def control_transcript(self, attempt: Attempt) -> Path:
        """Return the path of the transcript of an attempt's scripted control."""
        return self.folder / store.CONTROLS / f"{attempt.trial.id}.{attempt.fact.attempt}.jsonl"


def _unknown(start: SessionStarted) -> Timing:
    """Return the timing of a session that was killed: it began, and nobody knows more."""
    return Timing(started=start.started, seconds=0, host="", python="", pytest="", soclab=start.soclab)


def read_session(path: Path) -> Stored:
    """Read a session's files.

    Raises:
        ArtifactError: when there is no session's log, or none that begins.
    """
    folder = folders.session_folder(path)
    log = read_log(folder / store.LOG)
    if log.start is None:
        raise ArtifactError(*(log.faults or (f"{folder / store.LOG}: found no session's start",)))
    session = Stored(folder, log, Gathered.of(log.start), faults=list(log.faults))
    session.inputs, faults = _inputs(folder, log)
    session.faults += faults
    session.faults += _take_in(session)
    return session


def _inputs(folder: Path, log: StoredLog) -> tuple[dict[str, Path], list[str]]:
    kept = {fact.path: fact.sha256 for fact in log.facts if isinstance(fact, InputKept)}
    home = folder / store.INPUTS
    paths = {name: home / name for name in kept}
    faults = [f"{paths[name]}: {why}" for name, digest in kept.items() if (why := _other(paths[name], home, digest))]
    known = set(paths.values())
    faults += [
        f"{path}: an input that {store.LOG} does not name"
        for path in sorted(home.rglob("*"))
        if path not in known and not path.is_dir()
    ]
    return paths, faults


def _other(path: Path, home: Path, digest: str) -> str:
    """Return why a file is not the one that was kept, or an empty text."""
    if not path.resolve().is_relative_to(home.resolve()):
        return f"an input outside of {store.INPUTS}/"
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        return f"cannot be read ({error.strerror}), expected a copied input"
    return "" if found == digest else f"found SHA-256 {found[:12]}…, expected {digest[:12]}…"


def _take_in(session: Stored) -> Iterator[str]:
    """Fold the log's facts, each trial with its records, and yield what does not fit."""
    lines = _Lines(session.folder / store.TRIALS)
    controls = _Lines(session.folder / store.CONTROL_TRIALS)
    try:
        for fact in session.log.facts:
            if not isinstance(fact, TrialEnded):
                session.gathered.take(fact)
                continue
            control = controls.next(fact.control) if fact.control else None
            attempt = Attempt(fact, lines.next(fact.record), control)
            if (attempt.trial.id, attempt.trial.root_hash, attempt.trial.scenario) != (
                fact.trial, fact.root, fact.scenario
            ):  # fmt: skip
                yield f"{lines.place}: not the trial that {store.LOG} names"
                return
            session.attempts.append(attempt)
            session.gathered.take_trial(fact, attempt.trial, control)
    except ArtifactError as error:
        yield str(error)
        return
    if not session.log.finished:
        return  # a session that was killed had written more than it had logged
    yield from (f"{left.path}:{left.number + 1}: found a line that {store.LOG} does not name"
                for left in (lines, controls) if left.left)  # fmt: skip


class _Lines:
    """The lines of a file of records, asked for one by one by their SHA-256."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        self._lines = path.read_bytes().split(b"\n") if path.is_file() else [b""]

    @property
    def place(self) -> str:
        """Where the last line stands."""
        return f"{self.path}:{self.number}"

    @property
    def left(self) -> bool:
        """Whether there is more in the file than was asked for."""
        return self._lines[self.number :] != [b""]

    def next(self, digest: str) -> Trial:
        """Return the next line's record.

        Raises:
            ArtifactError: when there is none, or it is not the line of this digest.
        """
        if self.number >= len(self._lines) - 1:
            raise ArtifactError(f"{self.path}: found {self.number} records, expected one more")
        line = self._lines[self.number]
        self.number += 1
        found = hashlib.sha256(line + b"\n").hexdigest()
        if found != digest:
            raise ArtifactError(f"{self.place}: found SHA-256 {found[:12]}…, expected {digest[:12]}…")
        try:
            return Trial.model_validate_json(line)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise ArtifactError(f"{self.place}: found no trial record ({first['msg']})") from None


def read_transcript(path: Path) -> list[ledger.Event]:
    """Read one transcript whose chain holds.

    Raises:
        ArtifactError: when it cannot be read, or at the first event that does not hold.
    """
    found = read_chain(path)
    if found.fault:
        raise ArtifactError(f"{path} {found.fault}")
    return found.events


def read_chain(path: Path) -> ledger.ReadBack:
    """Read one chain's file up to its first fault."""
    try:
        return ledger.read_lines(path.read_bytes())
    except OSError as error:
        return ledger.ReadBack([], ledger.GENESIS, f"cannot be read ({error.strerror}), expected a transcript")
