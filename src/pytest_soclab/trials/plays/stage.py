"""What a play is derived from: an attack's script, where in it the harm lies, and the world that it is played in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from pytest_soclab.fronts.scripted import Obey, ScriptStep
from pytest_soclab.soc.aliases import Aliases
from pytest_soclab.soc.registry import Aim, Authority, Effect, Outcome, Registry, Tool, failed
from pytest_soclab.soc.world import World


@dataclass(frozen=True, slots=True)
class Stage:
    """One attack: `guilty` are the numbers of the script's steps, from 0, that are the harm itself.

    `harms` are the oracles that see it in the open world.
    """

    script: tuple[ScriptStep, ...]
    guilty: frozenset[int]
    harms: frozenset[str]
    registry: Registry
    world: World
    aliases: Aliases
    stopped_by: str

    @property
    def lead(self) -> tuple[ScriptStep, ...]:
        """The steps that are not the harm: what is read, and whatever else the script does."""
        return tuple(step for number, step in enumerate(self.script) if number not in self.guilty)

    @property
    def harm(self) -> tuple[ScriptStep, ...]:
        """The steps that are the harm."""
        return tuple(step for number, step in enumerate(self.script) if number in self.guilty)

    def tool(self, step: ScriptStep) -> Tool | None:
        """Return the declared tool of a step."""
        return self.registry.get(step.tool)

    def aims(self, step: ScriptStep) -> list[Aim]:
        """Return what a step aims at."""
        tool = self.tool(step)
        return tool.aims(step.arguments) if tool else []

    def answer(self, step: ScriptStep) -> Outcome:
        """Return what a tool answers in the open world, of which nothing is changed for the next one."""
        tool = self.tool(step)
        if tool is None:
            return failed(f"no such tool: {step.tool}")
        try:
            asked = tool.arguments.model_validate(step.arguments)
        except ValidationError:
            return failed("bad arguments")
        return tool.run(self.world.fork(), asked)

    def works(self, step: ScriptStep) -> bool:
        """Tell whether a changing step changes anything in the open world."""
        return bool(self.answer(step).changes)

    def changing(self) -> Iterator[Tool]:
        """Yield every tool that changes something."""
        yield from (tool for tool in self.registry.tools.values() if tool.change and tool.effect is not Effect.READ)

    def reading(self) -> Iterator[Tool]:
        """Yield every tool that only reads, inside the organisation."""
        for tool in self.registry.tools.values():
            if tool.effect is Effect.READ and tool.authority is Authority.OBSERVE and not tool.outside:
                yield tool


Derive = Callable[[Stage], Obey | None]


@dataclass(frozen=True, slots=True)
class Play:
    """A way to play an attack; `derive` returns the agent that plays it, None where it does not apply."""

    name: str
    derive: Derive


def in_place(stage: Stage, changed: Callable[[ScriptStep], Iterable[ScriptStep]]) -> Obey | None:
    """Return an agent that does other steps in the place of each harmful one; None where there are none."""
    steps: list[ScriptStep] = []
    found = False
    for number, step in enumerate(stage.script):
        instead = list(changed(step)) if number in stage.guilty else []
        found = found or bool(instead)
        steps += [step] if number not in stage.guilty else instead
    return Obey(tuple(steps)) if found else None


def with_argument(step: ScriptStep, name: str, value: Any) -> ScriptStep:
    """Return a step with another value of one argument."""
    return replace(step, arguments={**step.arguments, name: value})


def unique(steps: Iterable[ScriptStep], but: Sequence[ScriptStep] = ()) -> list[ScriptStep]:
    """Return the steps once each, in order, without those in `but`."""
    found: list[ScriptStep] = []
    for step in steps:
        if step not in found and step not in but:
            found.append(step)
    return found
