"""World, agent and gateway in; transcript and verdict out. No pytest in here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from pytest_soclab.base.errors import ScenarioError, SoclabError
from pytest_soclab.evidence.answers import EVENT, Answers
from pytest_soclab.evidence.grades import Grade
from pytest_soclab.evidence.ledger import Event, Ledger
from pytest_soclab.evidence.results import Action, Arm, Level
from pytest_soclab.fronts.dispatch import conduct
from pytest_soclab.fronts.in_process import Conduct
from pytest_soclab.fronts.outside import Brief
from pytest_soclab.fronts.protocol import Agent, Case, ToolSpec
from pytest_soclab.fronts.scripted import PUBLISH, Obey, ScriptStep, is_scripted
from pytest_soclab.gateway import approvals
from pytest_soclab.gateway.approvals import Approver, KnownTruth, LegitimateCall
from pytest_soclab.gateway.executor import Executor
from pytest_soclab.gateway.gateway import Door, Gateway, OpenDoor
from pytest_soclab.gateway.grants import GrantOffice
from pytest_soclab.gateway.state import Identity, TrialState
from pytest_soclab.harness.bench import Bench, Step, step_name
from pytest_soclab.judging import answering, facts, judge
from pytest_soclab.judging.actions import actions_of
from pytest_soclab.judging.citations import Citations, citations
from pytest_soclab.judging.grading import grade
from pytest_soclab.judging.judge import Judgement, Question
from pytest_soclab.judging.scene import Key, Oracle, Scene, deeds_of
from pytest_soclab.leaks.egress import texts
from pytest_soclab.policy.model import Engine
from pytest_soclab.scenario import template
from pytest_soclab.scenario.load import LoadedIncident, LoadedScenario
from pytest_soclab.scenario.model import AnswerKey, Scenario
from pytest_soclab.soc.aliases import Aliases, aliases_of
from pytest_soclab.soc.build import Prepared
from pytest_soclab.soc.registry import Authority, Registry
from pytest_soclab.soc.servers.catalog import described
from pytest_soclab.soc.world import Charter, World
from pytest_soclab.trials.rendering import changed_charter, payload_of, script_of

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
        ToolSpec(tool.name, tool.description, tool.effect.value, tool.schema) for tool in registry.tools.values()
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
        payload_of(scenario, fields), world,
    )  # fmt: skip


def _legitimate(name: str, arguments: Mapping[str, Any], registry: Registry) -> LegitimateCall:
    tool = registry.get(name)
    words, narrowing = (tool.words, tool.narrowing) if tool else (frozenset(), frozenset())
    return LegitimateCall(name, arguments, words, narrowing)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished trial: its transcript as events and as text, the verdict, whether the item passes, broken gates."""

    trial: str
    events: Sequence[Event]
    transcript: str
    root_hash: str
    judgement: Judgement
    passed: bool
    cause: str
    breaches: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    """The gates whose situation the trial made happen."""
    citations: Citations = field(default_factory=Citations)
    changes: tuple[Action, ...] = ()
    """Every change that the trial's calls made or would have made."""
    grade: Grade | None = None
    """The work beside the incident's answer key."""


@dataclass(slots=True)
class Setup:
    """One trial before it runs: who works on what, behind which door."""

    unit: Unit
    arm: Arm
    agent: Agent
    door: Door
    key: bytes
    timeout: float = 60.0
    play: str = PLAIN
    """The name of the play where it is another than the script as it stands."""
    bench: Bench = field(init=False)

    def __post_init__(self) -> None:
        gateway = self.door if isinstance(self.door, Gateway) else None
        self.bench = Bench(self.door.state, self.door.executor, self.key, gateway)

    @property
    def state(self) -> TrialState:
        """The trial's state."""
        return self.door.state

    @property
    def variant(self) -> str:
        """What the trial is called by: the play, for the script as it stands the variant."""
        return self.unit.variant if self.play == PLAIN else self.play

    @property
    def brief(self) -> Brief:
        """What the agent's front knows of the trial."""
        return Brief(self.state.trial, self.unit.payload)


def identity_of(agent: Agent) -> Identity:
    """Return who proposes, as the session knows it.

    Raises:
        SoclabError: when the agent lacks a name.
    """
    name, model = _text(getattr(agent, "name", None)), _text(getattr(agent, "model", None))
    if not name:
        raise SoclabError(f"the agent {type(agent).__name__} has no name; give it a `name` text")
    if not callable(getattr(agent, "investigate", None)):
        raise SoclabError(f"the agent {name!r} has no investigate(case, soc) method")
    return Identity(name, model, "scripted" if is_scripted(agent) else "live")


def _text(value: Any) -> str:
    """Return an agent's word about itself as plain text that can be logged; empty where it is no text."""
    return str.__str__(value).encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class Control:
    """The control plane of a trial: the engine that decides and the approver who answers."""

    engine: Engine
    approver: Approver


def open_door(state: TrialState) -> Door:
    """Return the baseline arm's door."""
    return OpenDoor(state, Executor(state, None))


def guarded_door(state: TrialState, key: bytes, control: Control) -> Door:
    """Return the protected arm's door."""
    office = GrantOffice(key, state.trial)
    return Gateway(state, Executor(state, office), office, control.engine, control.approver)


def state_of(  # noqa: PLR0917  # what a state is made of
    unit: Unit,
    trial: str,
    agent: Agent,
    world: World,
    level: Level,
    ledger: Ledger | None = None,
    withheld: frozenset[str] = frozenset(),
) -> TrialState:
    """Return a trial's state; a live agent's own model is the one under test and so approved.

    `withheld` are tools that a live agent does without; a scenario's own script keeps them.
    """
    identity = identity_of(agent)
    registry = unit.registry.without(withheld) if identity.kind == "live" else unit.registry
    if identity.kind == "live":
        models = (*world.charter.approved_models, identity.model)
        world.charter = replace(world.charter, approved_models=models)
    authority = min(level.rank, world.charter.level or level.rank)
    return TrialState(trial, world, registry, identity, authority, ledger or Ledger())


def run(setup: Setup) -> Outcome:
    """Run a trial to its end and judge it; nothing that an agent does raises."""
    _start(setup)
    for step in setup.unit.harness:
        step.prepare(setup.bench)
    case = setup.unit.case(setup.state.registry)
    conducted = conduct(setup.agent, case, setup.door.serve, setup.timeout, setup.brief)
    if conducted.finding is not None:
        setup.door.serve(conducted.finding)
    if any(e["type"] == "proposal" for e in setup.state.ledger.events):
        for step in setup.unit.harness:
            step.perform(setup.bench)
    return _finish(setup, conducted)


def _start(setup: Setup) -> None:
    scenario, incident = setup.unit.scenario, setup.unit.incident.incident
    setup.state.handed += texts(incident.alert.model_dump())
    if scenario.model and setup.state.identity.kind == "scripted":  # a live agent works with its own
        setup.state.identity = replace(setup.state.identity, model=scenario.model)
    setup.state.log(
        "trial_started",
        {
            "trial": setup.state.trial,
            "scenario": scenario.id,
            "version": scenario.version,
            "variant": setup.variant,
            "arm": setup.arm.value,
            "level": setup.state.level,
            "agent": setup.state.identity.name,
            "model": setup.state.identity.model,
            "incident": incident.id,
            "alert": incident.alert.model_dump(),
            "goal": scenario.goal or incident.goal,
        },
    )


def _finish(setup: Setup, conducted: Conduct) -> Outcome:
    state = setup.state
    if conducted.annex is not None:
        state.log("annex", conducted.annex)
    if conducted.cause:
        state.log("agent_error", {"error": conducted.cause})
    scenario = setup.unit.scenario
    scene = scene_of(state.ledger.events, setup.unit.registry, state.world.charter, setup.unit.key)
    steps = Counter(step_name(step) for step in setup.unit.harness)
    performed = (steps & Counter(setup.bench.performed)).total()
    expected = scenario.stopped_by if setup.play == PLAIN else judge.ANY_CONTROL
    question = replace(setup.unit.question, expected_stop=expected or None)
    judgement = judge.judge(question, scene, conducted.cause, performed)
    scripted = state.identity.kind == "scripted"
    judgement = judge.of_script(judgement) if scripted else judgement
    passed, cause = judge.expectation(judgement, setup.arm, scripted, expected)
    protected = setup.arm is Arm.PROTECTED
    broken = judge.breaches(state.ledger.events) if protected else ()
    exercised = narrowed(facts.situations(state.ledger.events), scenario) if protected else ()
    cited = citations(state.ledger.events) if protected else Citations()
    graded = _grade(setup.unit, scene)
    if graded.asked and not scripted and protected:
        state.log(EVENT, _answers(setup, scene).model_dump(mode="json"))
    state.log("trial_ended", {"cause": conducted.cause, **sealed(judgement, broken)})
    log = state.ledger
    return Outcome(
        state.trial, log.events, log.text(), log.root_hash, judgement, passed, cause, broken, exercised, cited,
        actions_of(scene), graded,
    )  # fmt: skip


def _answers(setup: Setup, scene: Scene) -> Answers:
    """Return how each fact of the incident's answer key was answered, for the transcript to keep."""
    incident, withheld = setup.unit.incident.incident, setup.unit.registry.tools.keys() - setup.state.registry.tools
    answers = answering.answers_of(scene, incident.answer_key)
    return Answers(incident=incident.id, withheld=tuple(sorted(withheld)), answers=answers)


def _grade(unit: Unit, scene: Scene) -> Grade:
    """Return how the work of a trial lies beside the answer key of its incident."""
    calls = [(unit.registry.get(call.tool), call.arguments) for call in unit.legitimate]
    legitimate = [change for tool, arguments in calls if tool for change in tool.attempts(arguments)]
    concludes = any(step.tool == PUBLISH for step in unit.script)
    return grade(scene, unit.incident.incident.answer_key, legitimate, asked_to_conclude=concludes)


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


def scene_of(events: Sequence[Event], registry: Registry, charter: Charter, key: Key) -> Scene:
    """Return what oracles look at."""
    return Scene(deeds_of(events, registry), events, registry, charter, key)
