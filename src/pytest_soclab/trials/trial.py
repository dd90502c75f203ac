"""World, agent and gateway in; transcript and verdict out. No pytest in here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_soclab import __version__
from pytest_soclab.base.errors import SoclabError
from pytest_soclab.evidence.answers import EVENT, Answers
from pytest_soclab.evidence.events import TRANSCRIPT_FORMAT, TrialStarted, plain
from pytest_soclab.evidence.grades import Grade
from pytest_soclab.evidence.ledger import Event, Ledger, digest
from pytest_soclab.evidence.results import Action, Arm, Level
from pytest_soclab.fronts.dispatch import conduct
from pytest_soclab.fronts.in_process import Conduct
from pytest_soclab.fronts.outside import Brief
from pytest_soclab.fronts.protocol import Agent
from pytest_soclab.fronts.scripted import is_scripted
from pytest_soclab.gateway.approvals import Approver
from pytest_soclab.gateway.executor import Executor
from pytest_soclab.gateway.gateway import Door, Gateway, OpenDoor
from pytest_soclab.gateway.grants import GrantOffice
from pytest_soclab.gateway.state import Identity, TrialState
from pytest_soclab.harness.bench import Bench
from pytest_soclab.judging.citations import Citations
from pytest_soclab.judging.judge import Judgement
from pytest_soclab.leaks.egress import texts
from pytest_soclab.policy.model import Engine
from pytest_soclab.soc.world import World
from pytest_soclab.trials.conclusion import Conclusion, charter_for, conclude, sealed
from pytest_soclab.trials.unit import PLAIN, Unit


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished trial: its transcript as events and as text, and what that shows."""

    trial: str
    events: Sequence[Event]
    transcript: str
    root_hash: str
    conclusion: Conclusion

    @property
    def judgement(self) -> Judgement:
        """The verdict with its grounds."""
        return self.conclusion.judgement

    @property
    def passed(self) -> bool:
        """Whether the item passes."""
        return self.conclusion.passed

    @property
    def cause(self) -> str:
        """Why the verdict is what it is."""
        return self.conclusion.cause

    @property
    def breaches(self) -> tuple[str, ...]:
        """The gates that the transcript breaks."""
        return self.conclusion.breaches

    @property
    def gates(self) -> tuple[str, ...]:
        """The gates whose situation the trial made happen."""
        return self.conclusion.gates

    @property
    def citations(self) -> Citations:
        """How many of the granted changes cited their target."""
        return self.conclusion.citations

    @property
    def changes(self) -> tuple[Action, ...]:
        """Every change that the trial's calls made or would have made."""
        return self.conclusion.changes

    @property
    def grade(self) -> Grade | None:
        """The work beside the incident's answer key."""
        return self.conclusion.grade


@dataclass(slots=True)
class Setup:
    """One trial before it runs: who works on what, behind which door."""

    unit: Unit
    arm: Arm
    agent: Agent
    door: Door
    key: bytes
    timeout: float = 60.0
    profile: str = ""
    """SHA-256 of the session's assurance profile."""
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
        world.charter = charter_for(world.charter, identity.model, live=True)
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
    identity, gateway = setup.state.identity, setup.door if isinstance(setup.door, Gateway) else None
    started = TrialStarted(
        format=TRANSCRIPT_FORMAT,
        soclab=__version__,
        policy=gateway.engine.source.digest if gateway is not None else "",
        profile=setup.profile,
        subject=digest([identity.name, identity.model, identity.kind]),
        trial=setup.state.trial,
        scenario=scenario.id,
        version=scenario.version,
        variant=setup.variant,
        arm=setup.arm.value,
        level=setup.state.level,
        agent=identity.name,
        model=identity.model,
        incident=incident.id,
        alert=incident.alert.model_dump(),
        goal=scenario.goal or incident.goal,
    )
    setup.state.log("trial_started", plain(started))


def answers_of(unit: Unit, found: Conclusion, withheld: Iterable[str]) -> Answers:
    """Return a trial's answers as its transcript keeps them."""
    return Answers(incident=unit.incident.incident.id, withheld=tuple(sorted(withheld)), answers=found.answers)


def _finish(setup: Setup, conducted: Conduct) -> Outcome:
    state = setup.state
    if conducted.annex is not None:
        state.log("annex", conducted.annex)
    if conducted.cause:
        state.log("agent_error", {"error": conducted.cause})
    scripted = state.identity.kind == "scripted"
    matter = setup.unit.matter(setup.arm, scripted=scripted, charter=state.world.charter, play=setup.play)
    found = conclude(matter, state.ledger.events, conducted.cause)
    if found.answers:
        withheld = setup.unit.registry.tools.keys() - state.registry.tools
        state.log(EVENT, answers_of(setup.unit, found, withheld).model_dump(mode="json"))
    state.log("trial_ended", {"cause": conducted.cause, **sealed(found.judgement, found.breaches)})
    log = state.ledger
    return Outcome(state.trial, log.events, log.text(), log.root_hash, found)
