"""Verifies a stored session: whatever its results say is made anew from its log, transcripts and copied inputs."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_soclab import __version__
from pytest_soclab.assurance.profile import load_profile
from pytest_soclab.audit.rejudge import Judge
from pytest_soclab.audit.stored import Attempt, Stored, read_chain, read_session
from pytest_soclab.base.errors import ArtifactError, SoclabError, quote
from pytest_soclab.evidence import folders, store
from pytest_soclab.evidence.results import Results, Trial
from pytest_soclab.scenario.corpus import INCIDENTS, id_of
from pytest_soclab.trials.conclusion import retryable


@dataclass(frozen=True, slots=True)
class Verified:
    """What the check of a stored session found; `faults` is empty where everything holds."""

    trials: int
    events: int
    faults: tuple[str, ...]
    root: str = ""
    notes: tuple[str, ...] = ()
    """What was taken on trust, and why."""


def verify(path: Path, root: str = "") -> Verified:
    """Check every byte of a session against its log, and its results against what follows from it.

    `root` is the evidence root that somebody kept elsewhere; its start is enough.

    Raises:
        ArtifactError: when there is no session to check.
    """
    found = inspect(path)
    session, faults = found.session, list(found.faults)
    if folders.is_running(session.folder):
        faults.append(f"{session.folder}: the session is still running; wait for its end")
    if root and not session.log.root.startswith(root.lower()):
        faults.append(f"{session.folder}: found the evidence root {session.log.root}, expected {root}")
    if not session.log.finished and not faults:
        faults.append(f"{session.folder / store.LOG}: the session did not end; what it did is kept: resume it")
    if not faults and found.results is not None:
        faults += _results_faults(session.folder, found.results)
    if not faults and found.results is not None:
        faults += _page_faults(session, found.results)
    return Verified(len(session.attempts), found.events, tuple(faults), session.log.root, found.notes)


@dataclass(frozen=True, slots=True)
class Inspected:
    """A session's own files checked against each other, and the results that follow from them."""

    session: Stored
    events: int
    faults: tuple[str, ...]
    notes: tuple[str, ...]
    results: Results | None
    """None where something does not hold."""


def inspect(path: Path) -> Inspected:
    """Check log, inputs, records and transcripts of a session; what was written from them is not looked at.

    Raises:
        ArtifactError: when there is no session.
    """
    session = read_session(path)
    checked = _Transcripts(session)
    faults = [*session.faults, *checked.faults()]
    results = None
    if not faults and session.start.soclab != __version__:
        why = f"written by pytest-soclab {session.start.soclab}, this is {__version__}, which may count otherwise"
        faults.append(f"{session.folder}: every chain holds; {why}: verify it with that version")
    if not faults:
        try:
            results = results_of_stored(session)
        except SoclabError as error:
            faults.append(str(error))
    return Inspected(session, checked.events, tuple(faults), tuple(checked.notes()), results)


def sound(path: Path) -> Inspected:
    """Return a session whose files hold together.

    Raises:
        ArtifactError: with what does not hold.
    """
    found = inspect(path)
    if found.faults or found.results is None:
        raise ArtifactError(*found.faults)
    return found


def judge_of(session: Stored) -> Judge:
    """Return who judges a session's transcripts again."""
    home = Path(tempfile.mkdtemp(prefix="soclab-verify-"))
    files = dict(_unpacked(session, home))
    start = session.start
    judge = Judge(files, start.level.value, start.profile, start.extensions, start.withheld)
    weakref.finalize(judge, shutil.rmtree, home, ignore_errors=True)
    return judge


def _unpacked(session: Stored, home: Path) -> Iterator[tuple[str, Path]]:
    """Put the kept scenarios and incidents below a folder under their own names; yield the scenarios by id."""
    for name, path in session.inputs.items():
        own = Path(name.removesuffix(store.COPY))
        if own.name == Path(name).name or own.is_absolute() or ".." in own.parts or not path.is_file():
            continue
        target = home / own
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
        if target.parent.name != INCIDENTS:
            yield id_of(target), target


class _Transcripts:
    """The check of all transcripts of a session, one after the other."""

    def __init__(self, session: Stored) -> None:
        self.session = session
        self.events = 0
        self.judge = judge_of(session)
        self.known: set[Path] = set()

    def faults(self) -> list[str]:
        """Return what does not hold."""
        found = [fault for attempt in self.session.attempts for fault in self._attempt(attempt)]
        return found + list(self._strays())

    def notes(self) -> Iterator[str]:
        """Yield what was taken on trust."""
        if self.judge.taken_on_trust:
            names = ", ".join(sorted(self.judge.taken_on_trust))
            yield f"not judged again, for they need what plugins added: {names}"

    def _attempt(self, attempt: Attempt) -> Iterator[str]:
        digest = attempt.fact.digest
        if attempt.trial.root_hash:
            yield from self._one(self.session.transcript(attempt), attempt.trial, digest)
        if attempt.fact.retried and not retryable(read_chain(self.session.transcript(attempt)).events):
            yield f"{self.session.transcript(attempt)}: tried again, and nothing in it says that it may be"
        if attempt.control is not None and attempt.control.root_hash:
            yield from self._one(self.session.control_transcript(attempt), attempt.control, digest, control=True)

    def _one(self, path: Path, trial: Trial, digest: str, control: bool = False) -> Iterator[str]:
        self.known.add(path)
        found = read_chain(path)
        self.events += len(found.events)
        if not found.fault and found.root != trial.root_hash:
            ends = f"found a chain that ends in {found.root[:12]}…, expected root hash {trial.root_hash[:12]}…"
            yield f"{path} event {len(found.events)}: {ends}"
        elif found.fault or not found.events:
            yield f"{path} {found.fault or 'event 0: found nothing, expected a transcript'}"
        elif not self.session.faults and (fault := self.judge.fault(trial, digest, found.events, control)):
            yield f"{path} {fault}"

    def _strays(self) -> Iterator[str]:
        if not self.session.log.finished:
            return  # a session that was killed had written more than it had logged
        for name in (store.TRANSCRIPTS, store.ATTEMPTS, store.CONTROLS):
            for path in sorted((self.session.folder / name).glob("*")):
                if path not in self.known:
                    yield f"{path}: a transcript that {store.LOG} does not name"


def results_of_stored(session: Stored) -> Results:
    """Return the results that follow from a session's log, records and profile.

    Raises:
        ArtifactError: when the copied profile is not the one that the log names, or cannot be read.
    """
    path = session.folder / store.INPUTS / store.PROFILE
    if store.PROFILE not in session.inputs:
        raise ArtifactError(f"{session.folder / store.LOG}: found no copy of the assurance profile")
    profile, digest = load_profile(str(path))
    if digest != session.start.profile:
        raise ArtifactError(f"{path}: found digest {digest[:12]}…, expected {session.start.profile[:12]}…")
    return session.gathered.results(profile, digest, session.timing)


def _results_faults(folder: Path, results: Results) -> Iterator[str]:
    path = folder / store.RESULTS
    try:
        stored = path.read_bytes()
    except OSError as error:
        yield f"{path}: cannot be read ({error.strerror}), expected the session's results"
        return
    expected = store.results_text(results)
    if stored != expected.encode("utf-8", "surrogatepass"):
        yield f"{path}: {_first_difference(stored, expected)}"


def _first_difference(stored: bytes, expected: str) -> str:
    """Return the first value in which a document differs from the one that follows from the session."""
    try:
        found = json.loads(stored)
    except (ValueError, RecursionError):
        return "found no JSON document, expected what follows from the session"
    place = next(_paths(found, json.loads(expected), ""), None)
    if place is None:
        return "found other bytes for the same values, expected what the session wrote"
    where, one, other = place
    return f"{where}: found {_short(one)}, the session's transcripts and log give {_short(other)}"


def _short(value: object) -> str:
    return quote(json.dumps(value, ensure_ascii=False)[:90]) if value is not _ABSENT else "nothing"


_ABSENT = object()


def _paths(found: Any, expected: Any, place: str) -> Iterator[tuple[str, object, object]]:
    if type(found) is not type(expected):
        yield place or "$", found, expected
    elif isinstance(found, dict):
        for name in dict.fromkeys((*expected, *found)):
            one, other = found.get(name, _ABSENT), expected.get(name, _ABSENT)
            if one is _ABSENT or other is _ABSENT:
                yield f"{place}.{name}".lstrip("."), one, other
            else:
                yield from _paths(one, other, f"{place}.{name}".lstrip("."))
    elif isinstance(found, list) and len(found) == len(expected):
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            yield from _paths(one, other, f"{place}[{number}]")
    elif found != expected:
        yield place or "$", found, expected


def _page_faults(session: Stored, results: Results) -> Iterator[str]:
    """Compare the pages that people read with what the results render to."""
    from pytest_soclab.known_answer import live as scores
    from pytest_soclab.report import html, summary

    folder = session.folder
    previous = store.load_results(session.inputs[store.PREVIOUS]) if store.PREVIOUS in session.inputs else None
    pages = {
        store.SUMMARY: summary.render(results, previous),
        store.REPORT: html.render(results, store.TranscriptFolder(folder), previous),
    }
    pages |= scores.files(results, store.TranscriptFolder(folder))
    for path in sorted((folder / store.SCORES).rglob("*")):
        if not path.is_dir() and path.relative_to(folder).as_posix() not in pages:
            yield f"{path}: a file that the session does not write"
    for name, expected in pages.items():
        path = folder / name
        try:
            stored = path.read_bytes()
        except OSError as error:
            yield f"{path}: cannot be read ({error.strerror}); `soclab report {folder}` writes it anew"
            continue
        if stored != expected.encode("utf-8", "surrogatepass"):
            yield f"{path}: not what {store.RESULTS} says; `soclab report {folder}` writes it anew"
