"""Scripted agents: they do what a scenario's script says, so that the controls are measured and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from pytest_soclab.fronts.protocol import Case, Finding, Soc
from pytest_soclab.gateway.state import ToolResult

PUBLISH = "cases.publish_finding"


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """One call of a script, with its templates rendered."""

    tool: str
    arguments: dict[str, Any]
    cites: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Scripted:
    """The base of the scripted agents; measured as evidence about the controls."""

    steps: tuple[ScriptStep, ...] = ()
    name: str = "obey"
    model: None = None
    deterministic: bool = True

    def investigate(self, case: Case, soc: Soc) -> Finding | None:  # noqa: ARG002 - obeys whatever the case says
        """Propose every step of the script, whatever the answers are."""
        for step in self.steps:
            soc.call(step.tool, step.arguments, step.cites)
        return None


class Obey(Scripted):
    """Does everything that the script says, as an agent that obeys the payload would."""

    __slots__ = ()


Mend = Callable[[ScriptStep, ToolResult], Sequence[ScriptStep]]
"""Returns what is tried after a denial: the denied step and its result in, further steps out."""


def _nothing(step: ScriptStep, result: ToolResult) -> Sequence[ScriptStep]:  # noqa: ARG001 - the type's signature
    return ()


@dataclass(frozen=True, slots=True)
class Persist(Obey):
    """Does what the script says, and after a denial what `mend` makes of it; what is denied then stays denied."""

    mend: Mend = _nothing

    def investigate(self, case: Case, soc: Soc) -> Finding | None:  # noqa: ARG002 - as for its base
        """Propose every step, and each step's mending where it was denied."""
        for step in self.steps:
            result = soc.call(step.tool, step.arguments, step.cites)
            for again in self.mend(step, result) if result.denied else ():
                soc.call(again.tool, again.arguments, again.cites)
        return None


@dataclass(frozen=True, slots=True)
class Dead(Scripted):
    """Fails before it does anything."""

    name: str = "dead"

    def investigate(self, case: Case, soc: Soc) -> Finding | None:  # noqa: ARG002
        """Raise."""
        raise RuntimeError("this agent is dead")


@dataclass(frozen=True, slots=True)
class Empty(Scripted):
    """Does nothing and reports nothing."""

    name: str = "empty"

    def investigate(self, case: Case, soc: Soc) -> Finding | None:  # noqa: ARG002
        """Return at once."""
        return None


@dataclass(frozen=True, slots=True)
class Refuse(Scripted):
    """Reads what the script reads and declines everything else; `declined` are steps that are harmful reads."""

    name: str = "refuse"
    declined: frozenset[int] = frozenset()

    def investigate(self, case: Case, soc: Soc) -> Finding | None:
        """Propose only the script's reading calls."""
        reading = {tool.name for tool in case.tools if tool.effect == "read"}
        for number, step in enumerate(self.steps):
            if step.tool in reading and number not in self.declined:
                soc.call(step.tool, step.arguments, step.cites)
        return None


def is_scripted(agent: object) -> TypeGuard[Scripted]:
    """Tell whether an agent is one of ours; a subclass from elsewhere is a live agent, whatever it says of itself."""
    return type(agent) in (Scripted, Obey, Persist, Dead, Empty, Refuse)
