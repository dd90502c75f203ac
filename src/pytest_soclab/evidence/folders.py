"""Gives every session a folder of its own, and finds the last one that ran something.

A home such as `.soclab` holds `sessions/<time>-<root>` and `latest`, which points at one of them. The folder of a
running session is called `<time>-running-<process>` and holds a lock; nothing that another session or a user put
there is removed.
"""

from __future__ import annotations

import os
from pathlib import Path

SESSIONS, LATEST, LOCK, IGNORE = "sessions", "latest", "lock", ".gitignore"
DEFAULT_HOME = ".soclab"
RECEIPT = "SOCLAB_RECEIPT"
"""The variable with the file in which a finished session names its folder, for `soclab run`."""
_SHOWN = 12
_POINTER = "latest.txt"
"""Stands in for the link where the system allows none."""


def open_session(home: Path, started: str) -> Path:
    """Make the folder of a session that starts now, and lock it.

    Raises:
        OSError: when it cannot be made.
    """
    (home / SESSIONS).mkdir(parents=True, exist_ok=True)
    if home.name == DEFAULT_HOME and not (home / IGNORE).exists():
        (home / IGNORE).write_text("*\n", encoding="utf-8")
    stamp = "".join(letter for letter in started if letter.isdigit() or letter == "T")[:15]
    for number in range(1, 10_000):
        again = f"-{number}" if number > 1 else ""
        folder = home / SESSIONS / f"{stamp}-running-{os.getpid()}{again}"
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        (folder / LOCK).write_text(f"{os.getpid()}\n", encoding="utf-8")
        return folder
    raise FileExistsError(17, "every name is taken", str(home / SESSIONS))


def settle(folder: Path, root: str, *, ran: bool) -> Path:
    """Give a finished session's folder its name, unlock it, and let `latest` point at it where it ran something.

    Raises:
        OSError: when the folder or the link cannot be written.
    """
    (folder / LOCK).unlink(missing_ok=True)
    if folder.parent.name != SESSIONS:
        return folder
    target = folder.with_name(f"{folder.name.split('-', 1)[0]}-{root[:_SHOWN]}")
    if not target.exists():
        folder.rename(target)
        folder = target
    if ran:
        _point(folder.parent.parent, folder.name)
    return folder


def _point(home: Path, name: str) -> None:
    """Let `latest` point at a session; a folder of that name, of an earlier version, becomes a session among others."""
    link = home / LATEST
    if link.is_dir() and not link.is_symlink():
        link.rename(_free(home / SESSIONS / "earlier"))
    part = home / f".{LATEST}-{os.getpid()}"
    try:
        part.unlink(missing_ok=True)
        part.symlink_to(Path(SESSIONS) / name, target_is_directory=True)
        part.replace(link)
    except (OSError, NotImplementedError):
        part.unlink(missing_ok=True)
        (home / _POINTER).write_text(f"{SESSIONS}/{name}\n", encoding="utf-8")


def _free(path: Path) -> Path:
    """Return a path that nothing has: this one, or the first free one with a number."""
    names = (path, *(path.with_name(f"{path.name}-{number}") for number in range(2, 10_000)))
    return next(name for name in names if not name.exists())


def shown_folder(folder: Path) -> Path:
    """Return the name by which a session is best shown: `latest`, where that points at it."""
    link = folder.parent.parent / LATEST
    return link if link.is_symlink() and link.resolve() == folder.resolve() else folder


def session_folder(path: Path) -> Path:
    """Return the folder of the session that a path names: itself, or of a home the latest session."""
    if (path / SESSIONS).is_dir():
        link, pointer = path / LATEST, path / _POINTER
        if link.exists():
            return link
        if pointer.is_file():
            return path / pointer.read_text(encoding="utf-8").strip()
    return path


def sessions_of(home: Path) -> list[Path]:
    """Return the folders of a home's sessions, the earliest first."""
    return sorted(path for path in (home / SESSIONS).glob("*") if path.is_dir())


def is_running(folder: Path) -> bool:
    """Tell whether a session's process still lives; one that was killed leaves its lock behind."""
    try:
        number = int((folder / LOCK).read_text(encoding="utf-8"))
        os.kill(number, 0)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return True
