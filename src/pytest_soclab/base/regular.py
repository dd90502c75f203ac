"""Tells pipes and devices, which may never end, from files."""

from __future__ import annotations

import stat
from pathlib import Path


def endless(path: Path, *, written: bool = False) -> bool:
    """Tell whether a path names a pipe or a device; what is `written` may be a device, such as /dev/stdout."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    if written:
        return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
