"""The typed stash keys of a session. Light: an idle pytest run imports this."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_soclab.known_answer.results import GateResult
    from pytest_soclab.lab import Lab
    from pytest_soclab.recorder import Recorder

LAB: pytest.StashKey[Callable[[], Lab]] = pytest.StashKey()
"""Returns the process's lab, made at the first call."""
MARKS: pytest.StashKey[Callable[[str], None]] = pytest.StashKey()
"""Registers a mark once."""
RECORDER: pytest.StashKey[Recorder] = pytest.StashKey()
"""Present once a scenario or a known-answer option appears."""
CENSUS: pytest.StashKey[dict[str, Any]] = pytest.StashKey()
"""What this process selected."""
GATE: pytest.StashKey[GateResult] = pytest.StashKey()
"""The known-answer gate's result, where the options ask for one."""
