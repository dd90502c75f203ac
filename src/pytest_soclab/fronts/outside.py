"""Agents outside of this process, as the options name them; light, for every session has the types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_soclab.fronts.protocol import Case, Finding, Soc
from pytest_soclab.fronts.spending import ProxySettings


@dataclass(frozen=True, slots=True)
class Brief:
    """What a front knows of a trial beside the case, and tells no agent: its id, and the texts of the payload."""

    trial: str = "trial"
    payload: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandAgent:
    """A command that is an agent: its words with `{mcp_url}`, `{mcp_config}`, `{prompt}` and `{prompt_file}` in them.

    `variables` are those of the user's own that it gets beside the few of the lab.
    """

    words: tuple[str, ...]
    name: str
    variables: Mapping[str, str] = field(default_factory=dict)
    model: str | None = None
    user: str | None = None
    template: str | None = None
    """The prompt, where it is not the plain one."""
    proxy: ProxySettings | None = None
    """How it reaches its model, where the lab stands in between."""
    deterministic: bool = False

    def investigate(self, case: Case, soc: Soc) -> Finding | None:
        """Refuse: a command works through its own front."""
        raise NotImplementedError("a command is conducted by conduct_command")


@dataclass(frozen=True, slots=True)
class ServiceAgent:
    """A service that is an agent, at an address of its own."""

    url: str
    name: str
    model: str | None = None
    template: str | None = None
    deterministic: bool = False

    def investigate(self, case: Case, soc: Soc) -> Finding | None:
        """Refuse: a service works through its own front."""
        raise NotImplementedError("a service is conducted by conduct_service")
