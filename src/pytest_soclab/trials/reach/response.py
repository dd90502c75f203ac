"""Plays the whole endorsed response of an incident as one trial, within the incident's own budgets."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pytest_soclab.evidence.ledger import Draft
from pytest_soclab.evidence.terms import Level
from pytest_soclab.gateway.approvals import RubberStamp
from pytest_soclab.gateway.facts import subjects_of
from pytest_soclab.gateway.state import Evidence, Identity, TrialState
from pytest_soclab.policy.model import Engine
from pytest_soclab.trials.reach.calls import Call
from pytest_soclab.trials.reach.reach import Ground
from pytest_soclab.trials.trial import Control, guarded_point

_RECOMMENDS = 3
"""The authority level from which a change is put before anybody."""
_PIECES = 2
"""The pieces of evidence, of two kinds where there are, that are read of each thing before it is changed."""
_KEY = b"the response of an answer key is signed with this"


def impossible(ground: Ground, engine: Engine, level: Level) -> tuple[str, ...]:
    """Return each endorsed call that does not go through, with why; a human approves whatever is asked."""
    charter, rank = ground.world.charter, ground.rank(level)
    if charter.degraded or rank < _RECOMMENDS:
        return ()
    identity = Identity("reach", "", "scripted")
    state = TrialState("reach", ground.world.fork(), ground.registry, identity, rank, Draft())
    point = guarded_point(state, _KEY, Control(engine, RubberStamp()))
    for read in _reads(ground):
        point.call(read.tool, dict(read.arguments))
    found = []
    for call in ground.response:
        result = point.call(call.tool, dict(call.arguments))
        if not result.ok:
            found.append(f"{call.tool} {json.dumps(dict(call.arguments), ensure_ascii=False)}: {result.error}")
    return tuple(found)


def _reads(ground: Ground) -> Iterator[Call]:
    """Yield the reads that the response rests on, each once."""
    chosen: dict[str, Evidence] = {}
    for call in ground.response:
        tool = ground.registry.get(call.tool)
        for name, kind in subjects_of(tool, call.arguments, ground.world).items():
            for piece in _resting(ground, name, kind, chosen):
                chosen.setdefault(piece.id, piece)
    yield from (ground.library.asked[identifier] for identifier in chosen)


def _resting(ground: Ground, name: str, kind: str, chosen: dict[str, Evidence]) -> list[Evidence]:
    """Return pieces of different kinds that name a thing, those that are read anyway first."""
    named = [p for p in ground.library.naming(kind, name) if p.incident == ground.incident]
    first: dict[str, Evidence] = {}
    for piece in sorted(named, key=lambda one: (one.id not in chosen, ground.library.rank(one))):
        first.setdefault(piece.kind, piece)
    return list(first.values())[:_PIECES]
