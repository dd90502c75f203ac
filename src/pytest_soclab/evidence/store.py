"""The session's files: log, trials and transcripts as they end, results and report at the end.

A file that cannot be written never changes a verdict: the first trouble is kept as one sentence, and writing stops.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_soclab.base.errors import ArtifactError
from pytest_soclab.base.regular import endless
from pytest_soclab.evidence import folders
from pytest_soclab.evidence.ledger import Event
from pytest_soclab.evidence.results import Results, Trial

RESULTS, TRIALS, TRANSCRIPTS = "results.json", "trials.jsonl", "transcripts"
LOG, INPUTS = "session.jsonl", "inputs"
CONTROL_TRIALS, CONTROLS, ATTEMPTS = "control_trials.jsonl", "controls", "attempts"
REPORT, SUMMARY = "report.html", "summary.md"
SCORES = "scores"
"""The folder of the scored runs, one folder each: `scores/run-1/score.md`."""
COPY = ".copy"
"""The ending of a kept scenario or incident, so that no search for scenarios takes it for one."""
PROFILE, PREVIOUS = "profile.yaml", "previous.json"
"""What the copies of the assurance profile and of earlier results are called among the inputs."""


class Artifacts:
    """Writes one session's folder; `trouble` is empty, or the sentence that says why nothing more is written.

    The folder is made by the first write.
    """

    def __init__(self, make: Callable[[], Path], home: Path) -> None:
        self.folder = home
        """The session's folder; before it is made, the place where it will be."""
        self.trouble = ""
        self._make = make
        self._made = False

    @classmethod
    def of_home(cls, home: Path, started: str) -> Artifacts:
        """Return the writer of a new session below a home."""
        return cls(lambda: folders.open_session(home, started), home)

    @classmethod
    def into(cls, folder: Path) -> Artifacts:
        """Return the writer of exactly this folder."""

        def make() -> Path:
            folder.mkdir(parents=True, exist_ok=True)
            return folder

        return cls(make, folder)

    def begin(self) -> None:
        """Make the folder, so that a session that is killed at once leaves one."""
        self.attempt(lambda: None)

    def add(self, name: str, line: str) -> None:
        """Append a line to a file."""
        self.attempt(lambda: self._add(name, line))

    def _add(self, name: str, line: str) -> None:
        with (self.folder / name).open("a", encoding="utf-8", errors="surrogatepass") as file:
            file.write(line)

    def write(self, name: str, text: str | Iterable[str]) -> None:
        """Write one file, whole or not at all."""
        self.attempt(lambda: self._replace(name, text))

    def keep(self, name: str, raw: bytes) -> str:
        """Write a copy of an input and return the SHA-256 of it."""
        self.attempt(lambda: self._keep(name, raw))
        return hashlib.sha256(raw).hexdigest()

    def _keep(self, name: str, raw: bytes) -> None:
        path = self.folder / INPUTS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)

    def put_aside(self, trial: str, attempt: int) -> None:
        """Move a trial's transcript to the attempts that do not count, because a worse one does."""
        self.attempt(lambda: self._put_aside(trial, attempt))

    def _put_aside(self, trial: str, attempt: int) -> None:
        path = self.folder / TRANSCRIPTS / f"{trial}.jsonl"
        if path.is_file():
            (self.folder / ATTEMPTS).mkdir(exist_ok=True)
            path.replace(self.folder / ATTEMPTS / f"{trial}.{attempt}.jsonl")

    def settle(self, root: str, *, ran: bool) -> None:
        """Give the folder its name and unlock it."""
        self.attempt(lambda: self._settle(root, ran))

    def _settle(self, root: str, ran: bool) -> None:
        self.folder = folders.settle(self.folder, root, ran=ran)

    def attempt(self, write: Callable[[], None]) -> None:
        """Write something, unless there was trouble before."""
        if self.trouble:
            return
        try:
            if not self._made:
                self.folder = self._make()
                self._made = True
            write()
        except OSError as error:
            where = error.filename or self.folder
            self.trouble = f"cannot write {where}: {error.strerror}; the report is incomplete, the verdict stands"

    def _replace(self, name: str, text: str | Iterable[str]) -> None:
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.part")
        try:
            if isinstance(text, str):
                part.write_text(text, encoding="utf-8", errors="surrogatepass")
            else:
                with part.open("w", encoding="utf-8", errors="surrogatepass") as file:
                    file.writelines(text)
            part.replace(target)
        except OSError:
            part.unlink(missing_ok=True)
            raise


class TranscriptFolder(Mapping[str, Sequence[Event]]):
    """The transcripts of a session by trial id, read when asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folders.session_folder(folder) / TRANSCRIPTS

    def __getitem__(self, trial: str) -> Sequence[Event]:
        """Return a trial's events; KeyError where there is no transcript."""
        return [_event(line) for line in self._bytes(trial).split(b"\n") if line]  # U+2028 within a text splits nothing

    def _bytes(self, trial: str) -> bytes:
        try:
            return (self._folder / f"{trial}.jsonl").read_bytes()
        except OSError:
            raise KeyError(trial) from None

    def text(self, trial: str) -> str:
        """Return a transcript as its file has it, an empty text where there is none."""
        try:
            return self._bytes(trial).decode("utf-8", "surrogatepass")
        except KeyError:
            return ""

    def __iter__(self) -> Iterator[str]:
        """Yield the ids of the trials that have a transcript, sorted."""
        return iter(sorted(path.stem for path in self._folder.glob("*.jsonl")))

    def __len__(self) -> int:
        """Return how many transcripts there are."""
        return sum(1 for _ in self._folder.glob("*.jsonl"))


def _event(line: bytes) -> Event:
    """Read one line of a transcript; pydantic's reader takes half the time but refuses half a surrogate pair."""
    from pydantic_core import from_json

    try:
        event: Event = from_json(line)
    except ValueError:
        event = json.loads(line.decode("utf-8", errors="surrogatepass"))
    return event


def results_text(results: Results) -> str:
    """Return `results.json` as text, the same bytes for the same results."""
    return "".join(results_parts(results))


def results_parts(results: Results) -> Iterator[str]:
    """Yield `results.json` piece by piece: of many thousands of trials the whole would fill much memory."""
    yield "{"
    for number, name in enumerate(Results.model_fields):
        yield f'{"," if number else ""}\n "{name}": '
        if name in ("trials", "control_trials"):
            yield from _trials_text(getattr(results, name))
        else:
            yield _indented(results.model_dump(mode="json", include={name})[name], 1)
    yield "\n}\n"


def _trials_text(trials: Sequence[Trial]) -> Iterator[str]:
    for number, trial in enumerate(trials):
        yield f"{',' if number else '['}\n  {_indented(trial.model_dump(mode='json'), 2)}"
    yield "\n ]" if trials else "[]"


def _indented(value: Any, depth: int) -> str:
    """Return a JSON value as it stands in a document, that many levels deep; a line break is never part of a text."""
    return json.dumps(value, ensure_ascii=False, indent=1).replace("\n", "\n" + " " * depth)


def results_path(path: Path) -> Path:
    """Return the `results.json` that a path names: itself, or the one of a session or of a home's latest session."""
    return folders.session_folder(path) / RESULTS if path.is_dir() else path


def load_results(path: Path) -> Results:
    """Read a `results.json`, or the one in a folder.

    Raises:
        ArtifactError: when there is none or it is no `soclab-results/2` or `/1` document.
    """
    from pydantic import ValidationError

    file = results_path(path)
    if endless(file):
        raise ArtifactError(f"{file}: found a pipe or a device, which may never end; give a results.json")
    try:
        return Results.model_validate_json(file.read_bytes())
    except OSError as error:
        raise ArtifactError(
            f"{file}: cannot be read ({error.strerror}); give an artifacts folder or a results.json"
        ) from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        expected = "expected a soclab-results/2 or soclab-results/1 document"
        raise ArtifactError(f"{file} {place}: {first['msg']}; {expected}") from None
