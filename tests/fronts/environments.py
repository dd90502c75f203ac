"""Environments of their own for packages that cannot be installed beside each other, made once and kept."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path


def python_with(*requirements: str) -> Path:
    """Return the Python of an environment with these packages; made at the first call, by one process alone."""
    folder, done = _places(requirements)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            venv.create(folder, clear=True, with_pip=True)
            install = [folder / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
            subprocess.run([*install, *requirements], check=True, capture_output=True, timeout=600)
            done.touch()
    return folder / "bin" / "python"


def forget(*requirements: str) -> None:
    """Have an environment made anew at its next use."""
    _places(requirements)[1].unlink(missing_ok=True)


def _places(requirements: tuple[str, ...]) -> tuple[Path, Path]:
    """Return the environment's folder, and the file that says that it is complete."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pytest-soclab" / "environments"
    home.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256("\n".join((sys.version, *requirements)).encode()).hexdigest()[:16]
    return home / digest, home / f"{digest}.done"
