"""Checks what options name, before anything is collected: files, addresses without secrets, a stored session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from pytest_soclab.base.errors import Fault, UsageError
from pytest_soclab.base.regular import endless
from pytest_soclab.base.settings import Settings
from pytest_soclab.evidence import folders, store

_READ = ("previous", "prompt", "sheet", "map", "settings", "words", "items", "assurance_profile")
_WRITTEN = ("sarif", "summary")
_ADDRESSES = ("agent_url", "model_proxy")
_REMEDY = "options are kept in results, so leave credentials out and hand them over in the environment"


def check(settings: Settings, base: Path) -> None:
    """Refuse what an option names and nothing could come of; relative paths start at `base`.

    Raises:
        UsageError: with the option, what was found and what to do.
    """
    faults = [*_pipes(settings, base), *_secrets(settings), *_missing(settings, base)]
    if faults:
        raise UsageError(*faults)


def _pipes(settings: Settings, base: Path) -> Iterator[Fault]:
    for name in (*_READ, *_WRITTEN):
        given = getattr(settings, name, None)
        if isinstance(given, str) and endless(base / given, written=name in _WRITTEN):
            yield Fault(f"{_option(name)}: found a pipe or a device, which may never end", given, remedy="name a file")


def _secrets(settings: Settings) -> Iterator[Fault]:
    for name in _ADDRESSES:
        try:
            parts = urlsplit(str(getattr(settings, name, None) or ""))
        except ValueError:
            continue  # said where the address is used
        if parts.password or (parts.query and parts.scheme):
            what = "a password" if parts.password else "a query"
            yield Fault(f"{_option(name)}: found an address with {what}", expected="one without", remedy=_REMEDY)


def _missing(settings: Settings, base: Path) -> Iterator[Fault]:
    given = getattr(settings, "resume", None)
    if given and not (folders.session_folder(base / given) / store.LOG).is_file():
        found = f"--soclab-resume: found no session's log {store.LOG} there"
        yield Fault(found, given, remedy="name the folder of a session that was stopped")


def _option(name: str) -> str:
    return f"--soclab-{name.replace('_', '-')}"
