"""Makes the agent that the options name."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from pytest_soclab.base.errors import UsageError, quote
from pytest_soclab.base.settings import AGENT_OPTIONS, PROXY_OPTIONS, Settings
from pytest_soclab.fronts.outside import CommandAgent, ServiceAgent
from pytest_soclab.fronts.protocol import Agent
from pytest_soclab.fronts.spending import Limits, ProxySettings, Spending


def brought(settings: Settings, folder: Path) -> Agent | None:
    """Return the agent that the options name, None where they name none; relative paths in it are those of `folder`.

    Raises:
        UsageError: when the command cannot be read, its program is not found, a variable or user does not exist, the
            address is none, or there are two agents.
    """
    named = [name for name in WAYS if getattr(settings, name) is not None]
    if len(named) > 1:
        first, second = (f"--soclab-{name.replace('_', '-')}" for name in named[:2])
        raise UsageError(f"{first} and {second} name two agents; take one of them away")
    template = _template(settings.prompt, folder, bool(named))
    if named and named != ["agent_command"]:
        _refuse(settings, PROXY_OPTIONS, f"--soclab-{named[0].replace('_', '-')}")
    if settings.agent_url is not None:
        return _service(settings, settings.agent_url, template)
    if settings.model is not None:
        return _built_in(settings, settings.model, template)
    if settings.agent_command is None:
        stray = next((name for name in (*AGENT_OPTIONS, *PROXY_OPTIONS) if getattr(settings, name)), None)
        if stray is None:
            return None
        raise UsageError(f"--soclab-{stray.replace('_', '-')} belongs to a command; add --soclab-agent-command")
    words = _split(settings.agent_command or "")
    resolved = (_program(words[0], folder), *(_word(word, folder) for word in words[1:]))
    _check_user(settings.agent_user)
    return CommandAgent(
        resolved,
        settings.agent_name or _name(words, resolved),
        variables_of(settings.agent_env or (), os.environ),
        settings.agent_model,
        settings.agent_user,
        template,
        proxy_of(settings, folder),
    )


def _refuse(settings: Settings, names: Sequence[str], beside: str) -> None:
    stray = next((name for name in names if getattr(settings, name) is not None), None)
    if stray is not None:
        raise UsageError(f"--soclab-{stray.replace('_', '-')} belongs to a command, not to {beside}; take it away")


WAYS = ("agent_command", "agent_url", "model")
"""The options that name an agent."""


def _template(name: str | None, folder: Path, used: bool) -> str | None:
    if name is None:
        return None
    if not used:
        raise UsageError("--soclab-prompt belongs to an agent that the options name; add --soclab-agent-command")
    try:
        return (folder / name).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"--soclab-prompt: {name} cannot be read ({error}); give a text file in UTF-8") from None


def _built_in(settings: Settings, model: str, template: str | None) -> Agent:
    _refuse(settings, [name for name in AGENT_OPTIONS if name != "agent_name"], "--soclab-model")
    if not all(model.partition(":")):
        raise UsageError(f"--soclab-model: found {quote(model)}, expected PROVIDER:NAME such as openai:gpt-4o-mini")
    try:
        from pytest_soclab.fronts.built_in import BuiltIn
    except ImportError as error:
        raise UsageError(
            f"--soclab-model needs the extra `models` ({error.name} is missing); pip install 'pytest-soclab[models]'"
        ) from None
    return BuiltIn(model, template, settings.agent_name or "built-in loop")


def proxy_of(settings: Settings, folder: Path) -> ProxySettings | None:
    """Return how a command reaches its model, None where the lab does not stand in between.

    Raises:
        UsageError: when an option needs the proxy and it is off, or the recording is missing.
    """
    if settings.model_proxy is None and settings.replay is None:
        stray = next((name for name in PROXY_OPTIONS if getattr(settings, name) is not None), None)
        if stray is not None:
            raise UsageError(f"--soclab-{stray.replace('_', '-')} needs the proxy; add --soclab-model-proxy=default")
        return None
    if settings.replay is not None and not (folder / settings.replay).is_dir():
        raise UsageError(f"--soclab-replay: there is no folder {quote(settings.replay)}; make one with --soclab-record")
    given = (settings.max_cost, settings.max_tokens, settings.max_time)
    trial, session = (Limits(*(pair[place] if pair else None for pair in given)) for place in (0, 1))
    places = [None if name is None else folder / name for name in (settings.record, settings.replay)]
    return ProxySettings(_upstream(settings.model_proxy), Spending(session, "session"), trial, *places)


def _upstream(given: str | None) -> str | None:
    if given in (None, "default"):
        return None
    parts = urlsplit(given or "")
    if parts.scheme not in ("http", "https") or not parts.hostname or _no_port(parts):
        raise UsageError(f"--soclab-model-proxy: found {quote(given)}, expected `default` or https://HOST")
    return given


def _service(settings: Settings, url: str, template: str | None) -> ServiceAgent:
    _refuse(settings, ("agent_env", "agent_user"), "--soclab-agent-url")
    parts = urlsplit(url)
    if parts.scheme.removeprefix("a2a+") not in ("http", "https") or not parts.hostname or _no_port(parts):
        expected = "an address such as http://127.0.0.1:9000/, or a2a+http://127.0.0.1:9000/ for A2A"
        raise UsageError(f"--soclab-agent-url: found {quote(url)}, expected {expected}")
    if parts.scheme.startswith("a2a+") and importlib.util.find_spec("a2a") is None:
        raise UsageError("--soclab-agent-url over A2A needs the extra `a2a`; pip install 'pytest-soclab[a2a]'")
    if parts.username is not None:
        raise UsageError("--soclab-agent-url names a user; options are kept in results, so leave credentials out")
    return ServiceAgent(url, settings.agent_name or f"agent at {parts.netloc}", settings.agent_model, template)


def _no_port(parts: SplitResult) -> bool:
    try:
        return parts.port == 0
    except ValueError:
        return True


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
