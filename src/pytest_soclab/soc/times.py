"""Times as incident files and agents write them: an offset from the incident's start, or RFC 3339."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from pytest_soclab.base.clock import epoch_of

EXPECTED = "an offset from the start such as +42m or +1h5m30s, or an RFC 3339 time with a zone"
_OFFSET = re.compile(r"([+-])(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?", re.ASCII)
_UNITS = (86_400, 3_600, 60, 1)


def offset_of(text: str) -> int:
    """Return the seconds of an offset such as `+1h5m`, negative for one before the start.

    Raises:
        ValueError: when the text is no such offset.
    """
    match = _OFFSET.fullmatch(text)
    if match is None or not any(match.groups()[1:]):
        raise ValueError(f"{text!r} is no offset")
    seconds = sum(int(number or 0) * unit for number, unit in zip(match.groups()[1:], _UNITS, strict=True))
    return -seconds if match[1] == "-" else seconds


def moment_of(value: object, start: int) -> int:
    """Return the seconds since the epoch of an offset from `start`, an RFC 3339 text or a `datetime`.

    A `datetime` without a zone is taken as UTC: that is what a YAML reader makes of `2026-03-02T08:00:00Z`.

    Raises:
        ValueError: when the value is none of them.
    """
    if isinstance(value, datetime):
        return int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no time")
    return start + offset_of(value) if value[:1] in {"+", "-"} else epoch_of(value)


def is_moment(value: object) -> bool:
    """Tell whether `moment_of` understands the value."""
    try:
        moment_of(value, 0)
    except (ValueError, OverflowError):
        return False
    return True
