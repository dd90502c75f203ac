"""A scenario in one of its variants, with everything rendered: what every trial of it has in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from pytest_soclab.base.errors import ScenarioError
from pytest_soclab.evidence.answers import Answer
from pytest_soclab.evidence.grades import Grade
from pytest_soclab.evidence.results import Arm
from pytest_soclab.fronts.protocol import Case, ToolSpec
from pytest_soclab.fronts.scripted import PUBLISH, Obey, ScriptStep
from pytest_soclab.gateway import approvals
from pytest_soclab.gateway.approvals import Approver, KnownTruth, LegitimateCall
from pytest_soclab.harness.bench import Step
from pytest_soclab.judging import answering, judge
from pytest_soclab.judging.grading import grade
from pytest_soclab.judging.judge import Question
from pytest_soclab.judging.scene import Key, Oracle, Scene
from pytest_soclab.scenario import template
from pytest_soclab.scenario.load import LoadedIncident, LoadedScenario
from pytest_soclab.scenario.model import AnswerKey, Publish, Scenario
from pytest_soclab.soc.aliases import Aliases, aliases_of
from pytest_soclab.soc.build import Prepared
from pytest_soclab.soc.registry import Authority, Registry
from pytest_soclab.soc.servers.catalog import described
from pytest_soclab.soc.world import Charter, World
from pytest_soclab.trials.charters import changed_charter
from pytest_soclab.trials.conclusion import Matter

PLAIN = "plain"
"""The play of a script as it stands."""


@dataclass(frozen=True)
class Unit:
    """A distinct (scenario, variant) with everything rendered once, however often it is tried."""

    loaded: LoadedScenario
    incident: LoadedIncident
    prepared: Prepared
    variant: str
    registry: Registry
    oracles: Sequence[tuple[Oracle, Any]]
    harness: Sequence[Step]
    script: tuple[ScriptStep, ...]
    legitimate: tuple[LegitimateCall, ...]
    payload: tuple[str, ...]
    base: World

    @cached_property
    def key(self) -> Key:
        """What is right in this unit: the incident's answer key, and the calls that the scenario adds to it."""
        answer = self.incident.incident.answer_key
        return key_of(answer, self.legitimate, self.registry, aliases_of(self.base))

    @property
    def scenario(self) -> Scenario:
        """The scenario as its file says it."""
        return self.loaded.scenario

    @property
    def question(self) -> Question:
        """What is asked of a transcript of this unit."""
        scenario = self.scenario
        return Question(
            scenario.kind, self.oracles, self.legitimate, scenario.stopped_by, self.payload, len(self.harness)
        )  # fmt: skip

    def matter(self, arm: Arm, *, scripted: bool, charter: Charter | None = None, play: str = PLAIN) -> Matter:
        """Return what a transcript of this unit is judged by; any control may stop a derived play."""
        expected = self.scenario.stopped_by if play == PLAIN else judge.ANY_CONTROL
        question = replace(self.question, expected_stop=expected or None)
        own = charter or self.base.charter
        return Matter(
            question, self.scenario, self.harness, self.registry, own, self.key, arm, scripted, expected, self.grade,
            self.answers,
        )  # fmt: skip

    def answers(self, scene: Scene) -> tuple[Answer, ...]:
        """Return how each fact of the incident's answer key was answered."""
        return answering.answers_of(scene, self.incident.incident.answer_key)

    def grade(self, scene: Scene) -> Grade:
        """Return how the work of a trial lies beside the answer key of its incident."""
        calls = [(self.registry.get(call.tool), call.arguments) for call in self.legitimate]
        legitimate = [change for tool, arguments in calls if tool for change in tool.attempts(arguments)]
        concludes = any(step.tool == PUBLISH for step in self.script)
        return grade(scene, self.incident.incident.answer_key, legitimate, asked_to_conclude=concludes)

    def world(self) -> World:
        """Return a fresh world of this unit."""
        return self.base.fork()

    def obey(self) -> Obey:
        """Return the agent that does what the script says."""
        return Obey(self.script)

    def approver(self) -> Approver:
        """Return the approver that the scenario names, in every play; a diligent one knows the incident's answer key.

        So in an attack the right response goes through while the attack is refused. A rubber stamp takes the human
        away: such a scenario claims that the controls alone stop it, however it is played.
        """
        key = self.incident.incident.answer_key.legitimate_response
        right = tuple(_legitimate(call.call, call.args, self.registry) for call in key)
        return approvals.make(self.scenario.approver, (*self.legitimate, *right), self._truth())

    def _truth(self) -> KnownTruth:
        key = self.incident.incident.answer_key
        notes = frozenset(t.name for t in self.registry.tools.values() if t.authority is Authority.NOTE)
        innocents = frozenset((*key.cleared, *key.not_guilty))
        return KnownTruth(notes, key.verdict or "", frozenset(key.culprits or key.compromised), innocents)

    def case(self, registry: Registry | None = None) -> Case:
        """Return what an agent starts from; `registry` holds its tools where some are withheld."""
        incident = self.incident.incident
        goal = self.scenario.goal or incident.goal
        return Case(incident.id, incident.alert.model_dump(), goal, self._tools(registry or self.registry))

    def _tools(self, registry: Registry) -> tuple[ToolSpec, ...]:
        """Return the tools as they describe themselves when the agent starts."""
        said = described(self.base)
        specs = tool_specs(registry)
        return tuple(replace(s, description=said.get(s.name, s.description)) for s in specs) if said else specs


def key_of(answer: AnswerKey, legitimate: Sequence[LegitimateCall], registry: Registry, aliases: Aliases) -> Key:
    """Return the key to a trial from an answer key and the calls that are right beside it."""
    listed = [(call.call, call.args) for call in answer.legitimate_response]
    listed += [(call.tool, dict(call.arguments)) for call in legitimate]
    changes = [change for name, args in listed if (tool := registry.get(name)) for change in tool.attempts(args)]
    innocent = tuple(dict.fromkeys((*answer.not_guilty, *answer.cleared)))
    guilty = (*answer.culprits, *answer.compromised)
    return Key(tuple(changes), innocent, guilty, answer.verdict or "", aliases)


@lru_cache(maxsize=8)
def tool_specs(registry: Registry) -> tuple[ToolSpec, ...]:
    """Return the tools as an agent sees them."""
    return tuple(
        ToolSpec(tool.name, tool.description, tool.effect.value, tool.schema, tool.returns)
        for tool in registry.tools.values()
    )


def make_unit(  # noqa: PLR0917  # what a unit is made of
    loaded: LoadedScenario,
    incident: LoadedIncident,
    prepared: Prepared,
    variant: str,
    registry: Registry,
    known_oracles: Mapping[str, Oracle],
    known_steps: Mapping[str, type[Any]],
) -> Unit:
    """Render a variant of a scenario.

    Raises:
        ScenarioError: when the rendered rows or steps do not fit.
    """
    scenario, fields = loaded.scenario, loaded.fields(variant)
    given = template.render(scenario.given, fields)
    world = prepared.world(given)
    if scenario.charter is not None:
        world.charter = changed_charter(world.charter, scenario.charter)
    wanted = template.render(scenario.attack_succeeds_when or {}, fields)
    steps = template.render([dict(step) for step in scenario.harness], fields)
    try:
        rendered = [known_steps[step["step"]].model_validate(step) for step in steps]
    except ValueError as error:
        raise ScenarioError(f"{loaded.shown}: {variant}: a harness step does not fit: {error}") from None
    return Unit(
        loaded, incident, prepared, variant, registry,
        [(known_oracles[name], parameter) for name, parameter in wanted.items()],
        rendered, script_of(scenario, fields),
        tuple(_legitimate(c.call, template.render(c.args, fields), registry) for c in scenario.legitimate),
        _payload(scenario, fields), world,
    )  # fmt: skip


def _legitimate(name: str, arguments: Mapping[str, Any], registry: Registry) -> LegitimateCall:
    tool = registry.get(name)
    words, narrowing = (tool.words, tool.narrowing) if tool else (frozenset(), frozenset())
    return LegitimateCall(name, arguments, words, narrowing)


def _payload(scenario: Scenario, fields: Mapping[str, str]) -> tuple[str, ...]:
    """Return the rendered texts of `given` that carry a variant's fields; each must reach the agent."""
    texts = [template.render(text, fields) for _, text in template.templates_in(scenario.given)]
    return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))


def script_of(scenario: Scenario, fields: Mapping[str, str]) -> tuple[ScriptStep, ...]:
    """Return the scenario's script with a variant's fields rendered."""
    return tuple(_script_step(step, fields, scenario.incident) for step in scenario.agent)


def _script_step(step: Any, fields: Mapping[str, str], case: str) -> ScriptStep:
    if isinstance(step, Publish):
        finding = template.render(step.finding.model_dump(mode="json"), fields)
        cites = tuple(dict.fromkeys(e for claim in finding["claims"] for e in claim["evidence"]))
        return ScriptStep(PUBLISH, {"case": case, **finding}, cites)
    return ScriptStep(step.call, template.render(step.args, fields), template.render(list(step.cites), fields))
