"""Makes the agent that the options name."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pytest_soclab.base.errors import UsageError, quote
from pytest_soclab.base.settings import AGENT_OPTIONS, Settings
from pytest_soclab.fronts.outside import CommandAgent


def brought(settings: Settings, folder: Path) -> CommandAgent | None:
    """Return the agent that the options name, None where they name none; relative paths in it are those of `folder`.

    Raises:
        UsageError: when the command cannot be read, its program is not found, or a variable or user does not exist.
    """
    if settings.agent_command is None:
        stray = next((name for name in AGENT_OPTIONS if getattr(settings, name)), None)
        if stray is None:
            return None
        raise UsageError(f"--soclab-{stray.replace('_', '-')} belongs to a command; add --soclab-agent-command")
    words = _split(settings.agent_command or "")
    resolved = (_program(words[0], folder), *(_word(word, folder) for word in words[1:]))
    _check_user(settings.agent_user)
    return CommandAgent(
        resolved,
        settings.agent_name or _name(words, resolved),
        variables_of(settings.agent_env, os.environ),
        settings.agent_model,
        settings.agent_user,
    )


def _split(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--soclab-agent-command: found {quote(command)}: {error}; mend the quotes") from None
    if not words:
        raise UsageError("--soclab-agent-command is empty; give a command such as `python my_agent.py`")
    return words


def _program(word: str, folder: Path) -> str:
    """Return the path of the program; `python` is the lab's own where the path has none."""
    found = shutil.which(str(folder / word) if os.sep in word else word)
    if found is None and word in ("python", "python3"):
        found = sys.executable
    if found is None:
        raise UsageError(f"--soclab-agent-command: there is no program {quote(word)}; give its path")
    return found


def _word(word: str, folder: Path) -> str:
    """Return a word with `{dir}` filled in, and a relative path made absolute: the command starts in another folder."""
    filled = word.replace("{dir}", str(folder))
    path = folder / filled
    return str(path) if filled and not filled.startswith("-") and path.exists() else filled


def _name(words: Sequence[str], resolved: Sequence[str]) -> str:
    script = next((word for word in resolved[1:] if Path(word).is_file()), words[0])
    return Path(script).name


def variables_of(names: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the options name, each name alone or several with commas or blanks between them.

    Raises:
        UsageError: when one is not set.
    """
    wanted = [name for given in names for name in given.replace(",", " ").split()]
    missing = [name for name in wanted if name not in known]
    if missing:
        raise UsageError(f"--soclab-agent-env: {missing[0]} is not set; set it, or take it out")
    return {name: known[name] for name in wanted}


def _check_user(user: str | None) -> None:
    if user is None:
        return
    import pwd

    try:
        pwd.getpwnam(user)
    except KeyError:
        raise UsageError(f"--soclab-agent-user: there is no user {quote(user)}") from None
    if os.geteuid() != 0:
        raise UsageError("--soclab-agent-user needs the rights of root; leave it out, or wrap the command in sudo")
