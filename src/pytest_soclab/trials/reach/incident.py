"""Puts an incident's file, its world and its answer key together for reach."""

from __future__ import annotations

from pytest_soclab.evidence.results import Reach
from pytest_soclab.evidence.terms import Level
from pytest_soclab.scenario.load import LoadedIncident
from pytest_soclab.soc.aliases import aliases_of
from pytest_soclab.soc.build import Prepared
from pytest_soclab.soc.registry import Registry
from pytest_soclab.trials.reach.asking import Asker
from pytest_soclab.trials.reach.calls import Call
from pytest_soclab.trials.reach.reach import Ground, reach
from pytest_soclab.trials.reach.response import impossible
from pytest_soclab.trials.unit import key_of


def ground_of(loaded: LoadedIncident, prepared: Prepared, registry: Registry) -> Ground:
    """Return an incident as reach needs it."""
    answer = loaded.incident.answer_key
    key = key_of(answer, (), registry, aliases_of(prepared.base))
    response = tuple(Call(call.call, call.args) for call in answer.legitimate_response)
    return Ground(loaded.incident.id, prepared.base, key, registry, response)


def reach_of(ground: Ground, asker: Asker, level: Level, nodeid: str) -> Reach:
    """Return what becomes of every call of an incident, and whether its whole response goes through."""
    found = reach(ground, asker, level, nodeid)
    return found.model_copy(update={"impossible": impossible(ground, asker.engine, level)})
