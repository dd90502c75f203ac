"""Evidence for what an AI agent in a SOC may do, as pytest items. (PYTEST_DONT_REWRITE: nothing is asserted here.)"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_soclab.public import Agent, Case, Claim, Finding, Soc, ToolResult, ToolSpec

__version__ = "0.1.0"
__all__ = ("Agent", "Case", "Claim", "Finding", "Soc", "ToolResult", "ToolSpec", "__version__")


def __getattr__(name: str) -> object:
    """Return what an agent's author needs, imported at the first use: an idle plugin imports nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pytest_soclab import public

    return getattr(public, name)
