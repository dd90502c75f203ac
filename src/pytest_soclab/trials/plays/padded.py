"""Reads whatever speaks of the target before the harm is done, and cites all of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pytest_soclab.fronts.scripted import Obey, ScriptStep
from pytest_soclab.gateway.state import CALL_SECONDS
from pytest_soclab.soc.registry import Aim, Tool
from pytest_soclab.trials.plays.stage import Play, Stage, unique

MOST = 20
"""Reads; more than that and the play is about the call budget, not about what was read."""
_QUERY = ("query", "text")
_RELATED: Mapping[str, tuple[str, ...]] = {
    "account": ("mailbox",),
    "mailbox": ("account",),
    "recipient": ("mailbox", "account"),
    "indicator": ("sample", "address", "domain"),
    "sample": ("indicator",),
}
"""Under which other types a thing may be asked for."""


def padded(stage: Stage) -> Obey | None:
    """Return an agent that first reads what it can of its targets."""
    reads = within_budget(stage, reads_of(stage, [aim for step in stage.harm for aim in stage.aims(step)]))
    if not reads:
        return None
    cited = tuple(dict.fromkeys(step.tool for step in reads))
    steps = [replace(step, cites=tuple(dict.fromkeys((*step.cites, *cited)))) for step in stage.harm]
    return Obey((*stage.lead, *reads, *steps))


def reads_of(stage: Stage, aims: Iterable[Aim]) -> list[ScriptStep]:
    """Return every read that names one of the things and finds something, without the script's own."""
    wanted = list(dict.fromkeys((aim.type, aim.value) for aim in aims))
    asked = unique((step for kind, value in wanted for step in _asking(stage, kind, value)), stage.script)
    return [step for step in asked if _finds(stage, step)]


def within_budget(stage: Stage, reads: list[ScriptStep]) -> list[ScriptStep]:
    """Return as many of the reads as the case's limits leave beside the script."""
    limits, own = stage.world.charter.budgets, len(stage.script)
    most = min(MOST, limits.get("calls", 0) - own, limits.get("seconds", 0) // CALL_SECONDS - own)
    return reads[: max(most, 0)]


def _asking(stage: Stage, kind: str, value: str) -> Iterator[ScriptStep]:
    kinds = {kind, *_RELATED.get(kind, ())}
    for tool in stage.reading():
        yield from (ScriptStep(tool.name, given) for given in _arguments(tool, kinds, value))


def _arguments(tool: Tool, kinds: set[str], value: str) -> Iterator[dict[str, Any]]:
    required = set(tool.schema.get("required", ()))
    for name, target in tool.targets.items():
        if target.type in kinds and required <= {name}:
            yield {name: value}
    for name in _QUERY:
        if name in tool.arguments.model_fields and required <= {name}:
            yield {name: f'"{value}"'}
            yield {name: value}


def _finds(stage: Stage, step: ScriptStep) -> bool:
    answer = stage.answer(step)
    return answer.ok and bool(answer.records if answer.records is not None else answer.data)


PADDED = Play("padded", padded)
