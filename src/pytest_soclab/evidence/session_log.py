"""The chained log of a session, `session.jsonl`: what happened, one typed fact a line, from which all results follow.

A session that was killed leaves a log without its last fact; everything before it still holds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from pytest_soclab.base.errors import ArtifactError, printable
from pytest_soclab.evidence import ledger
from pytest_soclab.evidence.results import AboveLevel, PolicyInfo, Reach, Saved, Timing
from pytest_soclab.evidence.terms import Level

SESSION_FORMAT = "soclab-session/1"
Mode = Literal["protected", "baseline", "compare", "known-answer"]


class SessionStarted(Saved):
    """The first fact: what the session was asked to do, and by which version of the package."""

    kind: Literal["session_started"] = "session_started"
    format: Literal["soclab-session/1"] = "soclab-session/1"
    soclab: str
    started: str
    mode: Mode
    level: Level
    command: tuple[str, ...]
    profile: str
    """SHA-256 of the assurance profile, whose file stands among the inputs."""
    extensions: tuple[str, ...] = ()
    """Tools, oracles and harness steps of plugins, which whoever reads the session back may not have."""
    withheld: tuple[str, ...] = ()
    """What was taken from the agent, as the option says it."""
    shards: tuple[str, ...] = ()
    """The evidence roots of the sessions that this one joins."""


class InputKept(Saved):
    """A file that the session read and of which it keeps a copy: its path below `inputs/` and SHA-256."""

    kind: Literal["input_kept"] = "input_kept"
    path: str
    sha256: str


class Collected(Saved):
    """What a process of the session found and selected, and by which policy it decides."""

    kind: Literal["collected"] = "collected"
    corpus: int
    corpus_digest: str
    repeat: int = 1
    scenarios: tuple[str, ...] = ()
    """The ids of the scenarios that were selected."""
    digests: dict[str, str] = Field(default_factory=dict)
    variants: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    above: dict[str, AboveLevel] = Field(default_factory=dict)
    known_answers: tuple[str, ...] = ()
    incidents: tuple[str, ...] = ()
    """The incidents that the corpus brings."""
    policy: PolicyInfo | None = None


class Selected(Saved):
    """The scenarios that were selected in the end, without those that a mark or a conftest left out."""

    kind: Literal["selected"] = "selected"
    scenarios: tuple[str, ...]


class TrialEnded(Saved):
    """One attempt at a trial; its record is the next line of `trials.jsonl`, its transcript ends in `root`."""

    kind: Literal["trial_ended"] = "trial_ended"
    trial: str
    attempt: int
    record: str
    """SHA-256 of the line."""
    root: str
    control: str = ""
    """SHA-256 of the line of `control_trials.jsonl`, where a live agent's trial was run with the script too."""
    scenario: str
    digest: str
    agent: dict[str, Any] | None = None
    policy: str = ""
    key: str = ""
    """SHA-256 over all that a trial depends on: where it is the same, the trial need not be run again."""
    resumed: bool = False
    retried: bool = False
    """Whether the agent's surroundings failed and it was tried again, so that it is kept and not counted."""
    retries: int = 0
    """How many attempts before this one ended by an error of the agent's surroundings."""


class TriedAbove(Saved):
    """An attack that counts only from a higher level on was tried and did not succeed."""

    kind: Literal["tried_above"] = "tried_above"
    trial: str


class ReachTried(Saved):
    """What became of every single call that an incident's world spans."""

    kind: Literal["reach_tried"] = "reach_tried"
    reach: Reach


class FileFailed(Saved):
    """A scenario file could not be read."""

    kind: Literal["file_failed"] = "file_failed"
    text: str


class WorkerLost(Saved):
    """An item that a worker did not run to its end."""

    kind: Literal["worker_lost"] = "worker_lost"
    nodeid: str
    cause: str


class PolicyChanged(Saved):
    """The policy that decided is not the one that was loaded."""

    kind: Literal["policy_changed"] = "policy_changed"
    why: str


class KnownAnswers(Saved):
    """The document of the known-answer gate."""

    kind: Literal["known_answers"] = "known_answers"
    document: dict[str, Any]


class SessionEnded(Saved):
    """The last fact; its hash is the evidence root, which therefore stands nowhere in here."""

    kind: Literal["session_ended"] = "session_ended"
    timing: Timing


Fact = (
    SessionStarted
    | InputKept
    | Collected
    | Selected
    | TrialEnded
    | TriedAbove
    | ReachTried
    | FileFailed
    | WorkerLost
    | PolicyChanged
    | KnownAnswers
    | SessionEnded
)
_FACT: TypeAdapter[Fact] = TypeAdapter(Annotated[Fact, Field(discriminator="kind")])


class SessionLog:
    """Chains the facts of a session; each comes back as the line to write down."""

    def __init__(self) -> None:
        self._ledger = ledger.Ledger()

    def append(self, fact: Fact) -> str:
        """Chain one fact and return its line."""
        data = fact.model_dump(mode="json", exclude={"kind"})
        self._ledger.append(fact.kind, 0, data)
        return self._ledger.last_line()

    def last(self) -> Fact:
        """Return the last fact as whoever reads the log will have it, the order of its keys included."""
        event = self._ledger.events[-1]
        return _FACT.validate_json(json.dumps({"kind": event["type"], **event["data"]}))

    @property
    def root(self) -> str:
        """The hash of the last fact: of a finished session its evidence root."""
        return self._ledger.root_hash


@dataclass(frozen=True, slots=True)
class StoredLog:
    """A session log that was read back: its facts, its root, what is wrong with it, and whether it has an end."""

    facts: tuple[Fact, ...]
    root: str
    faults: tuple[str, ...]

    @property
    def finished(self) -> bool:
        """Whether the session came to its end."""
        return bool(self.facts) and isinstance(self.facts[-1], SessionEnded)

    @property
    def start(self) -> SessionStarted | None:
        """The first fact."""
        first = self.facts[0] if self.facts else None
        return first if isinstance(first, SessionStarted) else None


def read_log(path: Path) -> StoredLog:
    """Read a session log up to its first fault; a last line that was cut short is one.

    Raises:
        ArtifactError: when there is none.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read ({error.strerror}); expected a session's log") from None
    facts: list[Fact] = []
    found = ledger.read_lines(text)
    faults = [f"{path} {found.fault}"] if found.fault else []
    for event in found.events:
        try:
            facts.append(_FACT.validate_python({"kind": event.get("type"), **event["data"]}))
        except (ValidationError, KeyError, TypeError) as error:
            faults.append(f"{path} event {event.get('seq')}: found no fact of a session ({_first(error)})")
            break
    if found.cut and facts and not isinstance(facts[-1], SessionEnded):
        faults = faults[1:]  # a session that was killed while it wrote; that it has no end is said anyway
    faults += [f"{path} {fault}" for fault in _shape(facts)] if not faults else []
    return StoredLog(tuple(facts), found.root, tuple(faults))


def _first(error: Exception) -> str:
    if isinstance(error, ValidationError):
        one = error.errors(include_url=False, include_input=False)[0]
        return printable(f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}")
    return printable(str(error))


def _shape(facts: list[Fact]) -> Iterator[str]:
    """Yield what is wrong with the order of the facts."""
    if not facts or not isinstance(facts[0], SessionStarted):
        yield "event 0: found no start of a session, expected session_started"
    for seq, fact in enumerate(facts):
        if seq and isinstance(fact, SessionStarted):
            yield f"event {seq}: found a second start, expected one session"
        if isinstance(fact, SessionEnded) and seq != len(facts) - 1:
            yield f"event {seq}: found the session's end, expected it last"


def line_of(value: dict[str, Any]) -> str:
    """Return a record as the line of a file, the same text for the same record."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True) + "\n"
