"""Concludes a trial from its transcript: the same function when it ends and when a stored session is read back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_soclab.evidence.answers import Answer
from pytest_soclab.evidence.grades import Grade
from pytest_soclab.evidence.ledger import Event
from pytest_soclab.evidence.results import Action, Arm, Verdict
from pytest_soclab.harness.bench import step_name
from pytest_soclab.judging import facts, judge
from pytest_soclab.judging.actions import actions_of
from pytest_soclab.judging.citations import Citations, citations
from pytest_soclab.judging.judge import Judgement, Question
from pytest_soclab.judging.scene import Key, Scene, deeds_of
from pytest_soclab.scenario.model import Scenario
from pytest_soclab.soc.registry import Registry
from pytest_soclab.soc.world import Charter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_soclab.harness.bench import Step


@dataclass(frozen=True)
class Matter:
    """What a transcript is judged by: the question, the scenario, the steps of the harness, and what is right."""

    question: Question
    scenario: Scenario
    harness: Sequence[Step]
    registry: Registry
    charter: Charter
    key: Key
    arm: Arm
    scripted: bool
    expected: str | None
    """The control that is to stop it; an empty text for any."""
    grade: Callable[[Scene], Grade]
    answer: Callable[[Scene], tuple[Answer, ...]]


@dataclass(frozen=True)
class Conclusion:
    """What a transcript shows: the verdict, whether the item passes, broken gates, and what was changed."""

    judgement: Judgement
    passed: bool
    cause: str
    breaches: tuple[str, ...]
    gates: tuple[str, ...]
    citations: Citations
    changes: tuple[Action, ...]
    grade: Grade | None = None
    answers: tuple[Answer, ...] = ()
    """How a live agent that was asked for a whole case answered each fact of the answer key."""


def conclude(matter: Matter, events: Sequence[Event], cause: str) -> Conclusion:
    """Judge a transcript without its last event; `cause` says why the agent's work did not end well."""
    scene = scene_of(events, matter.registry, matter.charter, matter.key)
    judgement = judge.judge(matter.question, scene, cause, performed(matter.harness, events))
    judgement = judge.of_script(judgement) if matter.scripted else judgement
    passed, why = judge.expectation(judgement, matter.arm, matter.scripted, matter.expected)
    protected, graded = matter.arm is Arm.PROTECTED, matter.grade(scene)
    return Conclusion(
        judgement,
        passed,
        why,
        judge.breaches(events) if protected else (),
        narrowed(facts.situations(events), matter.scenario) if protected else (),
        citations(events) if protected else Citations(),
        actions_of(scene),
        graded,
        matter.answer(scene) if graded.asked and protected and not matter.scripted else (),
    )


def performed(harness: Iterable[Step], events: Sequence[Event]) -> int:
    """Return how many of the harness steps a transcript shows as performed."""
    done = Counter(str(event["data"]["step"]) for event in events if event["type"] == "harness")
    return (Counter(step_name(step) for step in harness) & done).total()


def charter_for(charter: Charter, model: str, live: bool) -> Charter:
    """Return the charter of a trial: a live agent's own model is the one under test and so approved."""
    return replace(charter, approved_models=(*charter.approved_models, model)) if live else charter


def narrowed(situations: Sequence[str], scenario: Scenario) -> tuple[str, ...]:
    """Return the gates that a trial is evidence for: its file may leave some of the facts out, and add none."""
    return tuple(gate for gate in situations if gate in scenario.gates or not scenario.gates)


def sealed(judgement: Judgement, broken: Sequence[str]) -> dict[str, Any]:
    """Return what the last event of a transcript says of the verdict, so that the chain holds it too."""
    return {
        "verdict": judgement.verdict.value,
        "delivered": judgement.delivered,
        "stopped_by": judgement.stop.reason,
        "breaches": list(broken),
    }


def retryable(events: Sequence[Event]) -> bool:
    """Tell whether a live agent's surroundings failed before it attempted anything but to read."""
    failed = any(event["type"] == "agent_error" for event in events)
    ended = events[-1]["data"] if events else {}
    served = {e["data"]["call"] for e in events if e["type"] == "result" and e["data"]["evidence"] is not None}
    calls = {event["data"]["call"] for event in events if event["type"] == "proposal"}
    return failed and ended.get("verdict") == Verdict.INCONCLUSIVE.value and calls <= served


def scene_of(events: Sequence[Event], registry: Registry, charter: Charter, key: Key) -> Scene:
    """Return what oracles look at."""
    return Scene(deeds_of(events, registry), events, registry, charter, key)
