"""Tells whether a play applies to an attack: it can be derived, and in the open world it does the same harm."""

from __future__ import annotations

from pytest_soclab.base.errors import UsageError, quote
from pytest_soclab.evidence.results import Level, Verdict
from pytest_soclab.fronts.scripted import Obey, Persist
from pytest_soclab.gateway.normal import said
from pytest_soclab.judging.judge import INNOCENT
from pytest_soclab.trials.plays.stage import Play, Stage
from pytest_soclab.trials.trial import Outcome
from pytest_soclab.trials.unit import Unit
from pytest_soclab.trials.witness import guilty, opened


def stage_of(unit: Unit, plain: Outcome) -> Stage:
    """Return what plays of a unit are derived from; `plain` is its script's trial in the open world."""
    harm = guilty(unit, plain)
    expected = unit.scenario.stopped_by or ""
    return Stage(
        unit.script, harm, frozenset(plain.judgement.hits), unit.registry, unit.base, unit.key.aliases, expected
    )


def _derived(play: Play, stage: Stage) -> Obey | None:
    """Return what a play derives.

    Raises:
        UsageError: when the play raises, or returns what is no scripted agent.
    """
    try:
        agent = play.derive(stage)
    except Exception as error:  # a play may be a plugin's, which may raise anything
        raise UsageError(f"the play {quote(play.name)} raised {type(error).__name__}: {said(error)}") from error
    if agent is not None and type(agent) not in (Obey, Persist):
        raise UsageError(f"the play {quote(play.name)} returned a {type(agent).__name__}, expected an Obey or None")
    return agent


def player(unit: Unit, play: Play, stage: Stage, level: Level) -> Obey | None:
    """Return the agent that plays a unit, None where the play does not apply."""
    agent = _derived(play, stage) if stage.guilty else None
    if agent is None or (agent.steps == unit.script and type(agent) is Obey):
        return None
    judged = opened(unit, agent, level).judgement
    same = stage.harms <= judged.hits.keys() | {INNOCENT}
    return agent if judged.verdict is Verdict.SUCCEEDED and judged.delivered and same else None
