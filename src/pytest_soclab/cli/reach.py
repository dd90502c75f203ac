"""What `soclab policy reach` does: every single call of each incident, under a policy, at a level."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_soclab.base import resources
from pytest_soclab.base.errors import Fault, UsageError, printable
from pytest_soclab.base.settings import Settings
from pytest_soclab.evidence.results import Reach
from pytest_soclab.evidence.terms import Course
from pytest_soclab.report.reach import failure_text, line, table
from pytest_soclab.trials.lab import Lab


def reach(options: argparse.Namespace) -> int:
    """Print what becomes of every call, and each forbidden one; 1 where there is one."""
    lab = Lab(Settings(level=options.level, policies=options.policies))
    try:
        found = [lab.reach(path, path.name) for path in _files(options.paths)]
    finally:
        lab.close()
    _say(*_table(found), f"{options.level}: {line(found)}")
    red = [one for one in found if not one.passed]
    _say(*(failure_text(one, len(one.faults)) for one in red))
    return 1 if red else 0


def _files(paths: list[str]) -> list[Path]:
    """Return the incident files that were named.

    Raises:
        UsageError: when there is none.
    """
    named = [Path(path) for path in paths] or [resources.scenarios() / "incidents"]
    files = [file for path in named for file in (sorted(_folder(path).glob("*.yaml")) if path.is_dir() else [path])]
    missing = next((file for file in files if not file.is_file()), None)
    if missing is not None or not files:
        shown = str(missing or named[0])
        raise UsageError(Fault("found no incident", shown, expected="an incident file or a folder of them"))
    return files


def _folder(path: Path) -> Path:
    return path / "incidents" if (path / "incidents").is_dir() else path


def _table(found: list[Reach]) -> list[str]:
    """Return the lines of the table: each tool, how many of its calls have each outcome, what runs unattended."""
    lines = [f"{'tool':<28}" + "".join(f"{course.value:>17}" for course in Course) + "  unattended by standing"]
    for row in table(found):
        numbers = "".join(f"{row.outcomes.get(course, 0):>17,}" for course in Course)
        standing = ", ".join(f"{number:,} {name.value}" for name, number in sorted(row.unattended.items()))
        lines.append(f"{row.tool:<28}{numbers}  {standing}".rstrip())
    return lines


def _say(*texts: str) -> None:
    sys.stdout.write("".join(f"{printable(one)}\n" for text in texts for one in text.splitlines()))
