"""The options and ini values of a session as one frozen `Settings`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_soclab.base.errors import UsageError, nearest, quote
from pytest_soclab.options import INI, LEVELS, MODES

if TYPE_CHECKING:
    import pytest


AGENT_OPTIONS = ("agent_env", "agent_name", "agent_model", "agent_user")
"""What says more about a command that is an agent."""

PROXY_OPTIONS = ("model_proxy", "max_cost", "max_tokens", "max_time", "record", "replay")
"""What says how a command reaches its model."""

_NO_RESULT = {
    "artifacts", "summary", "sarif", "previous", "report_only", "require_level", "timeout", "shard",
    "max_cost", "max_tokens", "max_time", "record",
}  # fmt: skip
"""What changes no result, only whether there is one."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the command line and the ini file say to the plugin."""

    mode: Literal["protected", "baseline", "compare"] = "protected"
    level: str = "L4"
    policies: str | None = None
    opa_url: str | None = None
    opa_token_env: str | None = None
    opa_binary: str | None = None
    artifacts: str = ".soclab"
    summary: str | None = None
    sarif: str | None = None
    previous: str | None = None
    require_level: str | None = None
    report_only: bool = False
    assurance_profile: str = "default"
    no_reach: bool = False
    repeat: int = 1
    retry: int = 0
    resume: str | None = None
    opa_recheck: str = "sample"
    timeout: float = 60.0
    agent_command: str | None = None
    agent_url: str | None = None
    model: str | None = None
    prompt: str | None = None
    model_proxy: str | None = None
    max_cost: tuple[float, float] | None = None
    max_tokens: tuple[float, float] | None = None
    max_time: tuple[float, float] | None = None
    record: str | None = None
    replay: str | None = None
    agent_env: tuple[str, ...] | None = None
    agent_name: str | None = None
    agent_model: str | None = None
    agent_user: str | None = None
    plays: str | None = None
    withhold: tuple[str, ...] = ()
    plan: bool = False
    bundled: bool = False
    shard: tuple[int, int] | None = None
    baseline: tuple[str, ...] = ()
    candidate: tuple[str, ...] = ()
    baseline_m: int | None = None
    candidate_m: int | None = None
    sheet: str | None = None
    map: str | None = None
    settings: str | None = None
    words: str | None = None
    key: str | None = None
    items: str | None = None
    expect_items: int | None = None
    allow_unread: bool = False

    @property
    def names_agent(self) -> bool:
        """Whether an option about an agent is given."""
        names = ("agent_command", "agent_url", "model", "prompt", *AGENT_OPTIONS, *PROXY_OPTIONS)
        return any(getattr(self, name) is not None for name in names)

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms that the mode runs."""
        return ("baseline", "protected") if self.mode == "compare" else (self.mode,)

    def command(self) -> tuple[str, ...]:
        """Return the pytest arguments that give the same results, wherever they are written."""
        skip = {"artifacts", "summary", "sarif", "previous", "report_only", "require_level", "timeout", "shard"}
        skip |= {"max_cost", "max_tokens", "max_time", "record", "resume", "opa_recheck"}
        defaults = Settings()
        words = [f"--soclab-mode={self.mode}"]
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name not in skip | {"mode"} and value != getattr(defaults, item.name):
                words += _words(f"--soclab-{item.name.replace('_', '-')}", value)
        return tuple(words)


def wants_gate(settings: Settings) -> bool:
    """Tell whether the options ask for the known-answer gate.

    Raises:
        UsageError: when they name one arm only, or something that only the gate reads.
    """
    if settings.baseline and settings.candidate:
        return True
    if settings.baseline or settings.candidate:
        missing = "candidate" if settings.baseline else "baseline"
        raise UsageError(f"the known-answer gate has no {missing}; add --soclab-{missing}=RUN")
    names: tuple[str, ...] = ("baseline_m", "candidate_m", "sheet", "map", "settings")
    names += ("words", "key", "items", "expect_items", "allow_unread")
    stray = next((name for name in names if getattr(settings, name) not in (None, False)), None)
    if stray is not None:
        option = f"--soclab-{stray.replace('_', '-')}"
        raise UsageError(f"{option} belongs to the known-answer gate; add --soclab-baseline=RUN --soclab-candidate=RUN")
    return False


def _words(option: str, value: Any) -> list[str]:
    if value is True:
        return [option]
    return [f"{option}={one}" for one in (value if isinstance(value, tuple) else (value,))]


def settings_of(config: pytest.Config) -> Settings:
    """Return the settings of a session.

    Raises:
        UsageError: when an ini value is no valid one.
    """
    given: dict[str, Any] = {}
    for item in fields(Settings):
        value = config.getoption(f"soclab_{item.name}", None)
        if value in (None, False) and item.name in INI:
            value = _ini(config, item.name)
        if value not in (None, False):
            given[item.name] = (value,) if item.name == "agent_env" and isinstance(value, str) else _settled(value)
    settings = Settings(**given)
    _refuse_secrets(settings)
    return settings


def _refuse_secrets(settings: Settings) -> None:
    """Refuse a secret where it would be printed and stored with the session's command; it is not repeated here."""
    address = settings.opa_url or ""
    if "@" in address or "?" in address or "#" in address:
        found = "found an OPA address with a user, a password or a query, expected http://HOST:PORT"
        raise UsageError(
            f"{found}; put a token into the environment and name the variable: --soclab-opa-token-env=NAME"
        )
    if settings.opa_token_env is not None and not settings.opa_url:
        raise UsageError("--soclab-opa-token-env belongs to a server; add --soclab-opa-url=URL")


def _settled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _ini(config: pytest.Config, name: str) -> str | None:
    value = config.getini(f"soclab_{name}")
    if not value:
        return None
    valid = {"mode": MODES, "level": LEVELS}.get(name)
    if valid and value not in valid:
        raise UsageError(f"ini value soclab_{name}: found {quote(value)}; {nearest(value, valid)}")
    if name in ("policies", "artifacts") and config.inipath and not Path(value).is_absolute():
        return str(config.inipath.parent / value)
    return str(value)
