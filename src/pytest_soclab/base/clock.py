"""The only source of time and randomness.

Wall time and real randomness appear in `timing` fields and signing keys alone; everything inside a trial uses
`TrialClock`, so that the same scenario gives the same bytes.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from datetime import UTC, datetime


def wall_time() -> str:
    """Return the wall-clock time as RFC 3339 in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def monotonic() -> float:
    """Return seconds from a clock that never goes back."""
    return time.monotonic()


def sleep(seconds: float) -> None:
    """Wait for `seconds`."""
    time.sleep(seconds)


def signing_key() -> bytes:
    """Return a fresh 256-bit key for one session's grants."""
    return secrets.token_bytes(32)


def trial_token() -> str:
    """Return a fresh secret of 71 random bits for a trial's address, short for clients that build names of it."""
    return "".join(secrets.choice(_TOKEN) for _ in range(12))


_TOKEN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"  # noqa: S105 - the letters of one, not one


def rfc3339(epoch: int) -> str:
    """Return whole seconds since the epoch as RFC 3339 in UTC, such as `2026-03-02T09:42:00Z`."""
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def epoch_of(text: str) -> int:
    """Return the seconds since the epoch of an RFC 3339 time.

    Raises:
        ValueError: when the text is no such time or has no zone.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("the time has no zone")
    return int(moment.timestamp())


@dataclass(slots=True)
class TrialClock:
    """The simulated time of one trial: seconds since the epoch that move only when something happens."""

    now: int

    def advance(self, seconds: int = 1) -> int:
        """Move the simulated time on and return it."""
        self.now += seconds
        return self.now
