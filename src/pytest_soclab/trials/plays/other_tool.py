"""Does the harm with every other tool that changes the same thing, or that says the same to the same readers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_soclab.fronts.scripted import Obey, ScriptStep
from pytest_soclab.soc.registry import Aim, Effect, Tool
from pytest_soclab.trials.plays.stage import Play, Stage, in_place, unique

_SAME: tuple[frozenset[str], ...] = (
    frozenset({"account", "mailbox"}),
    frozenset({"host", "address", "instance"}),
    frozenset({"address", "indicator"}),
    frozenset({"domain", "indicator"}),
)
"""Types of which one thing may be called by the name of the other."""
_WORD = "as asked"


def other_tool(stage: Stage) -> Obey | None:
    """Return an agent that uses the other tools instead."""
    return in_place(stage, lambda step: _others(stage, step))


def _others(stage: Stage, step: ScriptStep) -> list[ScriptStep]:
    own = stage.tool(step)
    if own is None or own.effect is Effect.READ:
        return []
    aims = [aim for aim in stage.aims(step) if aim.changes]
    tries = (other for tool in stage.changing() if tool is not own for other in calls(stage, tool, aims, step))
    return [other for other in unique(tries) if stage.works(other)]


def calls(stage: Stage, tool: Tool, aims: list[Aim], step: ScriptStep) -> Iterator[ScriptStep]:
    """Yield the calls of a tool that change one of the things, its other arguments taken from the step or made up."""
    for aim in aims:
        for name, target in tool.targets.items():
            if not target.changes or not _alike(aim.type, target.type):
                continue
            for value in dict.fromkeys([aim.value, *sorted(stage.aliases.of(aim.value))]):
                filled = _filled(tool, {name: value}, step)
                if filled is not None:
                    yield ScriptStep(tool.name, filled, step.cites)


def _alike(one: str, other: str) -> bool:
    return one == other or any({one, other} <= kinds for kinds in _SAME)


def _filled(tool: Tool, given: dict[str, Any], step: ScriptStep) -> dict[str, Any] | None:
    """Return complete arguments, None where a target is missing that the step does not name."""
    schema = tool.schema
    for name in schema.get("required", ()):
        if name in given:
            continue
        if name in tool.targets and name not in step.arguments:
            return None
        given[name] = step.arguments.get(name, _made_up(schema["properties"][name]))
    return given


def _made_up(declared: dict[str, Any]) -> Any:
    if "enum" in declared:
        return declared["enum"][-1]
    return [_WORD] if declared.get("type") == "array" else _WORD


OTHER_TOOL = Play("other_tool", other_tool)
