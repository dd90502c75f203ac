"""The session's files: trials and transcripts as they end, results and report at the end.

A file that cannot be written never changes a verdict: the first trouble is kept as one sentence, and writing stops.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_soclab.base.errors import ArtifactError
from pytest_soclab.evidence.ledger import Event
from pytest_soclab.evidence.results import Results, Trial

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]  # the module where there is one

RESULTS, TRIALS, TRANSCRIPTS = "results.json", "trials.jsonl", "transcripts"
REPORT, SUMMARY, IN_USE = "report.html", "summary.md", ".in-use"
SCORES = "scores"
"""The folder of the scored runs, one folder each: `scores/run-1/score.md`."""
SCORE_FILES = ("score.md", "score.json", "evidence.json")
_OURS = re.compile(r"\.?(ATK|BEN)-.*\.jsonl(\.part)?")


class Claim:
    """Keeps a folder for one session at a time, by a lock that ends with its process at the latest."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / IN_USE
        self._file: int | None = None
        self.refused = False

    def take(self) -> None:
        """Take the folder. Raises OSError when it cannot be had, and notes where another session has it."""
        if fcntl is None or self._file is not None:  # no such locks on this system
            return
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.refused = True
            os.close(file)
            raise
        except OSError:  # a file system without locks
            os.close(file)
            return
        self._file = file

    def release(self) -> None:
        """Give the folder back."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class Artifacts:
    """Writes into one folder; `trouble` is empty, or the sentence that says why nothing more is written.

    A `fresh` folder is cleared of an earlier session's files before the first write.
    """

    def __init__(self, folder: Path, *, fresh: bool = True) -> None:
        self.folder = folder
        self.trouble = ""
        self._started = not fresh
        self._claim = Claim(folder) if fresh else None

    def append(self, trial: Mapping[str, Any], transcript: str) -> None:
        """Write a finished trial's transcript, where it has one, and its line of `trials.jsonl`."""
        self._attempt(lambda: self._append(trial, transcript))

    def begin(self) -> None:
        """Take away what an earlier session left, so that nobody reads its report as this session's.

        Raises:
            ArtifactError: when another session is writing into the folder.
        """
        self._attempt(lambda: None)
        if self._claim is not None and self._claim.refused:
            raise ArtifactError(self.trouble)

    def close(self) -> None:
        """Let other sessions have the folder."""
        if self._claim is not None:
            self._claim.release()

    def forget(self, trial: str) -> None:
        """Take a trial's line and transcript away, because another attempt at it counts."""
        self._attempt(lambda: self._forget(trial))

    def _forget(self, trial: str) -> None:
        lines = (self.folder / TRIALS).read_text(encoding="utf-8").split("\n")[:-1]
        self._replace(TRIALS, "".join(f"{line}\n" for line in lines if json.loads(line)["id"] != trial))
        (self.folder / TRANSCRIPTS / f"{trial}.jsonl").unlink(missing_ok=True)

    def write(self, name: str, text: str | Iterable[str]) -> None:
        """Write one file, whole or not at all."""
        self._attempt(lambda: self._replace(name, text))

    def _attempt(self, write: Callable[[], None]) -> None:
        if self.trouble:
            return
        try:
            self._start()
            write()
        except OSError as error:
            if self._claim is not None and self._claim.refused:
                self.trouble = (
                    f"{self.folder} is in use by another session; name another folder with --soclab-artifacts"
                )
                return
            where = error.filename or self.folder
            self.trouble = f"cannot write {where}: {error.strerror}; the report is incomplete, the verdict stands"

    def _start(self) -> None:
        """Make the folder and take away what an earlier session left in it."""
        if self._started:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._claim is not None:
            self._claim.take()
        for name in (RESULTS, TRIALS, REPORT, SUMMARY):
            (self.folder / name).unlink(missing_ok=True)
        for old in self.folder.glob(f"{SCORES}/run-*/*"):
            if old.name in SCORE_FILES:
                old.unlink()
        (self.folder / TRANSCRIPTS).mkdir(exist_ok=True)
        for old in (self.folder / TRANSCRIPTS).iterdir():
            if _OURS.fullmatch(old.name):  # the folder may be the user's own
                old.unlink()
        self._started = True

    def _append(self, trial: Mapping[str, Any], transcript: str) -> None:
        if transcript:
            self._replace(f"{TRANSCRIPTS}/{trial['id']}.jsonl", transcript)
        with (self.folder / TRIALS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(trial, ensure_ascii=False, sort_keys=True) + "\n")

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


_CHAIN = re.compile(rb',"prev":"[0-9a-f]{64}","seq":(\d+),"type":"(\w+)","hash":"[0-9a-f]{64}"\}$', re.MULTILINE)


def _essence(transcript: bytes, trial: str) -> bytes:
    """Return a transcript without its hashes and the trial's name; empty where the name stands in any other place."""
    name = trial.encode()
    text = transcript.replace(b'"grant":"%b/grant-' % name, b'"grant":"/grant-').replace(b'"trial":"%b"' % name, b"")
    return b"" if name in text else _CHAIN.sub(rb"\1\2", text)


class TranscriptFolder(Mapping[str, Sequence[Event]]):
    """The transcripts of a session by trial id, read when asked for.

    With `alike`, a transcript that differs from the one asked for before in nothing but hashes, grant ids and its name
    is given as that one: the same list, for whoever shows none of them. Repetitions of a script are read once.
    """

    def __init__(self, folder: Path, *, alike: bool = False) -> None:
        self._folder = folder / TRANSCRIPTS
        self._alike = alike
        self._last: tuple[bytes, list[Event]] = (b"", [])

    def __getitem__(self, trial: str) -> Sequence[Event]:
        """Return a trial's events; KeyError where there is no transcript."""
        whole = self._bytes(trial)
        essence = _essence(whole, trial) if self._alike else b""
        if not essence or essence != self._last[0]:
            lines = whole.split(b"\n")  # U+2028 within a text splits nothing
            self._last = essence, [_event(line) for line in lines if line]
        return self._last[1]

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


def transcripts_to_show(folder: Path, results: Results) -> TranscriptFolder:
    """Return the transcripts for a surface that shows neither hashes nor grants; repetitions may be alike."""
    return TranscriptFolder(folder, alike=any(trial.repetition > 1 for trial in results.trials))


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


def load_results(path: Path) -> Results:
    """Read a `results.json`, or the one in a folder.

    Raises:
        ArtifactError: when there is none or it is no `soclab-results/2` or `/1` document.
    """
    from pydantic import ValidationError

    file = path / RESULTS if path.is_dir() else path
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
