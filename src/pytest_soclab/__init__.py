"""Evidence for what an AI agent in a SOC may do, as pytest items."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_soclab.agents.protocol import Agent, Case, Claim, Finding, Soc, ToolSpec
    from pytest_soclab.gateway.state import ToolResult

__version__ = "0.1.0"
__all__ = ["Agent", "Case", "Claim", "Finding", "Soc", "ToolResult", "ToolSpec", "__version__"]

_HOMES = {"ToolResult": "pytest_soclab.gateway.state"}


def __getattr__(name: str) -> object:
    """Return what an agent's author needs, imported at the first use: an idle plugin imports nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_HOMES.get(name, "pytest_soclab.agents.protocol")), name)
    return value
