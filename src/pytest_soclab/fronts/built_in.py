"""A plain agent for people who have none: one model, one prompt, the SOC's tools (extra `models`, pydantic-ai-slim).

The loop is the library's. The prompt is the one that commands get, or a file of the user's with `{incident}`, `{goal}`,
`{alert}`, `{publish}` and `{cites}` in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_ai import Agent as Loop
from pydantic_ai import Tool
from pydantic_ai.models import Model
from pydantic_ai.usage import UsageLimits

from pytest_soclab.fronts.mcp import told
from pytest_soclab.fronts.prompt import prompt_of
from pytest_soclab.fronts.protocol import Case, Soc
from pytest_soclab.fronts.tool_view import ToolView, toolbox

MOST_REQUESTS = 60
"""Requests to the model in one trial; a loop that needs more goes in a circle."""


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """The agent of `--soclab-model`."""

    model: str
    template: str | None = None
    name: str = "built-in loop"
    deterministic: bool = False
    use: Model | None = None
    """Another model than the one that the name stands for, for tests."""

    async def investigate(self, case: Case, soc: Soc) -> None:
        """Let the model work on the case; what it publishes with the tool is its finding."""
        box = toolbox(case.tools)
        tools = [_tool(view, soc, box.names) for view in box.tools.values()]
        loop: Loop[None, str] = Loop(self.use or self.model, tools=tools, retries=2)
        await loop.run(prompt_of(case, self.template), usage_limits=UsageLimits(request_limit=MOST_REQUESTS))


def _tool(view: ToolView, soc: Soc, names: Any) -> Tool[None]:
    async def call(**arguments: Any) -> str:
        import asyncio

        given, cites = view.opened(arguments, names)
        return told(await asyncio.to_thread(soc.call, view.tool, given, cites))

    return Tool.from_schema(call, view.name, view.description, dict(view.schema))
