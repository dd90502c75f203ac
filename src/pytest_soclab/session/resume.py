"""Takes finished trials of an earlier session over, where nothing that they depend on has changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_soclab import __version__
from pytest_soclab.audit.stored import Stored
from pytest_soclab.audit.verify import sound
from pytest_soclab.evidence.ledger import Event, digest, read_lines
from pytest_soclab.trials.lab import Lab
from pytest_soclab.trials.unit import Unit


@dataclass(frozen=True, slots=True)
class Earlier:
    """One finished trial of the earlier session: what travels on its report, and its events."""

    payload: dict[str, Any]
    events: list[Event]


@dataclass
class Resumed:
    """The trials of an earlier session by id and key."""

    found: dict[tuple[str, str], Earlier] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, path: Path) -> Resumed:
        """Read an earlier session, finished or not.

        Raises:
            ArtifactError: when its evidence does not hold together.
        """
        session = sound(path).session
        resumed = cls()
        for attempt in session.attempts:
            counts = session.gathered.counted.get(attempt.trial.id) == attempt.fact.attempt
            if counts and attempt.trial.root_hash and attempt.fact.key:
                resumed.ids.add(attempt.trial.id)
                resumed.found[attempt.trial.id, attempt.fact.key] = _earlier(session, attempt)
        return resumed

    def get(self, trial: str, key: str) -> Earlier | None:
        """Return a trial that need not be run again."""
        return self.found.get((trial, key))

    def changed(self, trial: str, key: str) -> bool:
        """Tell whether a trial was finished, but with something that has changed since."""
        return trial in self.ids and (trial, key) not in self.found


def _earlier(session: Stored, attempt: Any) -> Earlier:
    raw = session.transcript(attempt).read_bytes()
    payload: dict[str, Any] = {
        "trial": attempt.trial.model_dump(mode="json"),
        "transcript": raw.decode("utf-8", "surrogatepass"),
        "agent": attempt.fact.agent,
        "digest": attempt.fact.digest,
        "policy": attempt.fact.policy,
        "key": attempt.fact.key,
        "retries": attempt.fact.retries,
        "resumed": True,
    }
    if attempt.control is not None:
        beside = session.control_transcript(attempt).read_bytes().decode("utf-8", "surrogatepass")
        payload |= {"control": attempt.control.model_dump(mode="json"), "control_transcript": beside}
    return Earlier(payload, read_lines(raw).events)


def key_of(unit: Unit, trial: str, agent: Mapping[str, Any], policy: str, lab: Lab) -> str:
    """Return the SHA-256 over all that a trial depends on: subject, policy, case, tools and those withheld, place."""
    tools = [[tool.name, tool.effect.value, tool.schema] for tool in unit.registry.tools.values()]
    return digest([
        __version__, dict(agent), policy, unit.loaded.digest, unit.incident.digest, digest(tools), trial,
        lab.level.value, sorted(lab.withheld),
    ])  # fmt: skip
