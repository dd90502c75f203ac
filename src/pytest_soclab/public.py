"""What authors of agents and of plugins import; `from pytest_soclab import Finding` leads here.

Nothing else of the package is promised to stay where it is, but for `pytest_soclab.errors`.
"""

from __future__ import annotations

from pytest_soclab.fronts.protocol import Agent, Case, Claim, Finding, Soc, ToolSpec
from pytest_soclab.fronts.scripted import Obey, ScriptStep
from pytest_soclab.gateway.state import ToolResult
from pytest_soclab.harness.bench import Bench, Step
from pytest_soclab.judging.oracles import Oracle
from pytest_soclab.soc.registry import Registry, Tool
from pytest_soclab.trials.plays.stage import Play, Stage

__all__ = [
    "Agent",
    "Bench",
    "Case",
    "Claim",
    "Finding",
    "Obey",
    "Oracle",
    "Play",
    "Registry",
    "ScriptStep",
    "Soc",
    "Stage",
    "Step",
    "Tool",
    "ToolResult",
    "ToolSpec",
]
