"""Makes the saved record of a trial: before it ran, and from what its transcript shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_soclab.evidence.ledger import Event
from pytest_soclab.evidence.renderings import rendering_of
from pytest_soclab.evidence.results import Arm, Trial, Verdict
from pytest_soclab.judging.actions import counted
from pytest_soclab.judging.judge import NOTHING
from pytest_soclab.scenario.load import LoadedScenario
from pytest_soclab.trials.conclusion import Conclusion

AgentKind = Literal["scripted", "live"]


@dataclass(frozen=True, slots=True)
class Place:
    """What names a trial: its id, its item, and which of the repetitions of what it is."""

    trial: str
    nodeid: str
    variant: str
    arm: Arm
    repetition: int
    play: str = "plain"


def before_it_ran(loaded: LoadedScenario, place: Place, cause: str) -> Trial:
    """Return the record of a trial before it ran: inconclusive."""
    scenario = loaded.scenario
    return Trial(
        id=place.trial, scenario=scenario.id, version=scenario.version, variant=place.variant, play=place.play,
        arm=place.arm, repetition=place.repetition, kind=scenario.kind, title=scenario.title, tier=scenario.tier,
        family=scenario.family, incident=scenario.incident, surface=loaded.surface, atlas=scenario.atlas,
        owasp=scenario.owasp, twin=scenario.twin, agent_kind="scripted", verdict=Verdict.INCONCLUSIVE,
        passed=False, cause=cause, delivered=False, stopped_by=NOTHING.reason, stopped_layer=NOTHING.layer,
        expected_stop=scenario.stopped_by, file=loaded.shown, line=1, nodeid=place.nodeid, root_hash="",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ended:
    """What a record is made of once its trial has ended; `witness` says why the scenario could not prove itself."""

    conclusion: Conclusion
    events: Sequence[Event]
    payload: tuple[str, ...]
    root_hash: str
    agent_kind: AgentKind
    witness: str = ""


def finished(before: Trial, ended: Ended) -> Trial:
    """Return the record of a finished trial."""
    found, rendering = ended.conclusion, rendering_of(ended.events)
    judgement, stop, witness = found.judgement, found.judgement.stop, ended.witness
    return before.model_copy(
        update={
            "agent_kind": ended.agent_kind,
            "verdict": Verdict.INCONCLUSIVE if witness else judgement.verdict,
            "passed": found.passed and not witness,
            "cause": f"the scenario cannot prove itself: {witness}" if witness else found.cause,
            "delivered": judgement.delivered,
            "payload": ended.payload,
            "stopped_by": stop.reason,
            "stopped_layer": stop.layer,
            "stopped_rule": stop.rule,
            "reasons": stop.reasons,
            "decisive": judgement.decisive,
            "breaches": found.breaches,
            "grade": found.grade,
            "granted_changes": found.citations.changes,
            "uncited": found.citations.uncited,
            "gates": found.gates,
            "inputs": rendering.inputs,
            "rendering": rendering.whole,
            "actions": counted(found.changes),
            "changes": found.changes,
            "root_hash": ended.root_hash,
            "witness": witness,
        }
    )
