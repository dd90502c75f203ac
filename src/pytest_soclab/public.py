"""What an agent's author needs, by short names: `from pytest_soclab import Finding` leads here."""

from __future__ import annotations

from pytest_soclab.fronts.protocol import Agent, Case, Claim, Finding, Soc, ToolSpec
from pytest_soclab.gateway.state import ToolResult

__all__ = ["Agent", "Case", "Claim", "Finding", "Soc", "ToolResult", "ToolSpec"]
