"""The typed stash keys of a session. Light: an idle pytest run imports this."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_soclab.known_answer.results import GateResult
    from pytest_soclab.session.recorder import Recorder
    from pytest_soclab.trials.lab import Lab

LAB: pytest.StashKey[Callable[[], Lab]] = pytest.StashKey()
"""Returns the process's lab, made at the first call."""
MARKS: pytest.StashKey[Callable[[str], pytest.MarkDecorator]] = pytest.StashKey()
"""Returns a mark, registered and made at the first call."""
RECORDER: pytest.StashKey[Recorder] = pytest.StashKey()
"""Present once a scenario or a known-answer option appears."""
CENSUS: pytest.StashKey[dict[str, Any]] = pytest.StashKey()
"""What this process selected."""
CHOSEN: pytest.StashKey[tuple[str, ...]] = pytest.StashKey()
"""The paths and node ids within the bundled corpus that the command line names."""
GATE: pytest.StashKey[GateResult] = pytest.StashKey()
"""The known-answer gate's result, where the options ask for one."""


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
    "known_answer: an item of the known-answer gate",
)
"""The marks whose names no scenario file chooses; `incident_…` is registered when a file names its incident."""
