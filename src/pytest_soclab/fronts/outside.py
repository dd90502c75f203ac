"""Agents outside of this process, as the options name them; light, for every session has the types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_soclab.fronts.protocol import Case, Finding, Soc


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
    deterministic: bool = False

    def investigate(self, case: Case, soc: Soc) -> Finding | None:
        """Refuse: a command works through its own front."""
        raise NotImplementedError("a command is conducted by conduct_command")
