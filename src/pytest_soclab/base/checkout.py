"""Where a folder lies in the repository that it belongs to: readers of SARIF and job summaries start at its root."""

from __future__ import annotations

import os
from pathlib import Path

_ROOTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")


def below(folder: Path) -> str:
    """Return a folder's path below its repository's root, with slashes; empty where it is the root or in none."""
    here = folder.resolve()
    named = [Path(os.environ[name]).resolve() for name in _ROOTS if os.environ.get(name)]
    found = [parent for parent in (here, *here.parents) if (parent / ".git").exists()]  # a file in a worktree
    root = next((root for root in (*named, *found[:1]) if here.is_relative_to(root)), here)
    path = here.relative_to(root).as_posix()
    return "" if path == "." else path
