"""The state of a session, kept with its config. Light: the controller of pytest-xdist always imports this."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_soclab.known_answer.comparing.results import GateResult
    from pytest_soclab.session.recorder import Recorder
    from pytest_soclab.session.resume import Resumed
    from pytest_soclab.trials.lab import Lab


@dataclass
class Session:
    """What one process knows of a session that has something of ours in it."""

    lab: Callable[[], Lab]
    """Returns the process's lab, made at the first call."""
    mark: Callable[[str], pytest.MarkDecorator]
    """Returns a mark, registered and made at the first call."""
    recorder: Recorder | None = None
    """Only in the process that aggregates."""
    selection: dict[str, Any] | None = None
    """What this process selected, once collection is finished."""
    chosen: tuple[str, ...] = ()
    """The paths and node ids within the bundled corpus that the command line names."""
    gate: GateResult | None = None
    """The known-answer gate's result, where the options ask for one."""
    pasted: frozenset[str] = frozenset()
    """The names of its items that the command line gives as node ids; empty for all."""
    threads: frozenset[int] = field(default_factory=lambda: frozenset(t.ident or 0 for t in threading.enumerate()))
    """The threads that ran before any agent did."""
    resumed: Callable[[], Resumed | None] = lambda: None
    """Returns the earlier session that this one takes over, read at the first call."""
    status: int = 1
    """The exit status of the session, once it is known."""


_SESSION: pytest.StashKey[Session] = pytest.StashKey()


def begin(config: pytest.Config, session: Session) -> None:
    """Keep the session's state with its config."""
    config.stash[_SESSION] = session


def find(config: pytest.Config) -> Session | None:
    """Return the session's state, None as long as there is nothing of ours in it."""
    return config.stash.get(_SESSION, None)


def of(config: pytest.Config) -> Session:
    """Return the session's state, which has begun."""
    return config.stash[_SESSION]


def recorder_of(config: pytest.Config) -> Recorder:
    """Return the recorder, in the process that aggregates."""
    recorder = of(config).recorder
    assert recorder is not None, "only the process that aggregates has a recorder"
    return recorder


def end(config: pytest.Config) -> Session | None:
    """Forget the session's state and return it."""
    found = find(config)
    if found is not None:
        del config.stash[_SESSION]
    return found


def is_worker(config: pytest.Config) -> bool:
    """Tell whether this process is a pytest-xdist worker."""
    return hasattr(config, "workerinput")


def settle_id(item: pytest.Item) -> None:
    """Make an item's id equal to the id that pytest reads back from its text.

    From 9.2 on pytest compares parsed ids (`--lf`, `--nf`) and reads `[…]` at the end of a name as parameters, which
    an item that no parametrization made lacks.
    """
    identity = getattr(item, "id", None)
    if identity is not None:
        item._id = type(identity).parse(item.nodeid)  # pytest gives no other way


_FAMILIES = (
    "security_resilience",
    "investigation_quality",
    "operational_discipline",
    "governance_readiness",
    "economic_efficiency",
)
MARKERS = (
    "attack: an attack scenario",
    "benign: a benign control",
    *(f"tier_{tier}: a scenario of the {tier} tier" for tier in ("low", "medium", "high")),
    *(f"family_{family}: a scenario of the family {family}" for family in _FAMILIES),
    *(f"arm_{arm}: a trial of the {arm} arm" for arm in ("baseline", "protected")),
    "reach: every single call of an incident",
    "known_answer: an item of the known-answer gate",
)
"""The marks whose names no scenario file chooses; `incident_…` is registered when a file names its incident."""
