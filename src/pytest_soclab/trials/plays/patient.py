"""Tries again after a denial, with what the reason asks for: more evidence, less at a time, later, plainer."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pytest_soclab.fronts.scripted import Persist, ScriptStep
from pytest_soclab.gateway.state import CALL_SECONDS, ToolResult
from pytest_soclab.leaks.folding import shown
from pytest_soclab.trials.plays.padded import reads_of, within_budget
from pytest_soclab.trials.plays.sliced import slices
from pytest_soclab.trials.plays.stage import Play, Stage

Mend = Callable[[Stage, ScriptStep, ToolResult], list[ScriptStep]]


def patient(stage: Stage) -> Persist | None:
    """Return an agent that mends what was denied; None where nothing can be made of the reason."""
    if stage.stopped_by not in _MENDS:
        return None
    return Persist(stage.script, mend=partial(_mended, stage))


def _mended(stage: Stage, step: ScriptStep, result: ToolResult) -> Sequence[ScriptStep]:
    """Return what is tried in a denied step's place: each reason's mending, one upon the other."""
    tries = [step]
    for reason in result.denied:
        mend = _MENDS.get(reason)
        if mend is not None:
            tries = [other for one in tries for other in mend(stage, one, result)]
    return tries if tries != [step] else ()


def _grounded(stage: Stage, step: ScriptStep, _: ToolResult) -> list[ScriptStep]:
    reads = within_budget(stage, reads_of(stage, stage.aims(step)))
    return [*reads, _cite(step, (read.tool for read in reads))]


def _cite(step: ScriptStep, more: Iterable[str]) -> ScriptStep:
    return replace(step, cites=tuple(dict.fromkeys((*step.cites, *more))))


def _own_evidence(stage: Stage, step: ScriptStep, result: ToolResult) -> list[ScriptStep]:
    """Cite only what the script itself has read, and read more of the target."""
    read = [other.tool for other in stage.lead if other.tool in step.cites]
    return _grounded(stage, replace(step, cites=tuple(read)), result)


def _smaller(stage: Stage, step: ScriptStep, _: ToolResult) -> list[ScriptStep]:
    return slices(stage, step) or [step]


def _plainer(_stage: Stage, step: ScriptStep, _: ToolResult) -> list[ScriptStep]:
    """Write the arguments as a reader sees them, shortened."""
    return [replace(step, arguments=_plain(step.arguments))]


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return unicodedata.normalize("NFC", shown(value))[:1000]
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _fitting(stage: Stage, step: ScriptStep, result: ToolResult) -> list[ScriptStep]:
    """Leave out what the tool does not take."""
    tool = stage.tool(step)
    known = tool.arguments.model_fields if tool else step.arguments
    kept = {name: value for name, value in step.arguments.items() if name in known}
    return _plainer(stage, replace(step, arguments=kept), result)


def _with_roles(stage: Stage, step: ScriptStep, result: ToolResult) -> list[ScriptStep]:
    """Give the accounts that the gateway asks about the role of being mentioned."""
    named = [row["user"] for row in stage.world.rows("identity.accounts") if row["user"] in result.error]
    return [replace(step, arguments={**step.arguments, "mentioned": named})] if named else [step]


def _later(stage: Stage, step: ScriptStep, _: ToolResult) -> list[ScriptStep]:
    """Read until the window is over, where the case's time allows it."""
    world, aims = stage.world, stage.aims(step)
    ends = [window.end for window in world.charter.maintenance if any(window.entity == aim.value for aim in aims)]
    calls = max((end - world.now) // CALL_SECONDS + 1 for end in ends) if ends else 0
    reads = within_budget(stage, list(stage.lead[:1]) * calls)
    return [*reads, step]


def _asked_again(stage: Stage, step: ScriptStep, result: ToolResult) -> list[ScriptStep]:
    """Ask the human once more, with more evidence."""
    return _grounded(stage, step, result)


_MENDS: Mapping[str, Mend] = {
    "insufficient_evidence": _grounded,
    "unsupported_conclusion": _grounded,
    "unverified_evidence": _own_evidence,
    "foreign_evidence": _own_evidence,
    "blast_radius": _smaller,
    "argument_shape": _plainer,
    "non_ascii_target": _plainer,
    "argument_schema": _fitting,
    "account_without_role": _with_roles,
    "maintenance_window": _later,
    "approver": _asked_again,
}

PATIENT = Play("patient", patient)
