"""What one process of a session shares between its trials: vocabulary, incidents, policy engine, witnesses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pytest_soclab.base import clock, resources
from pytest_soclab.base.errors import PolicyError, PolicyUnavailable, UsageError
from pytest_soclab.base.settings import Settings
from pytest_soclab.evidence.results import Kind, Level, PolicyInfo, Reach
from pytest_soclab.fronts.protocol import Agent
from pytest_soclab.fronts.scripted import Obey
from pytest_soclab.gateway.normal import schema_faults
from pytest_soclab.harness.bench import Step
from pytest_soclab.harness.steps import STEPS
from pytest_soclab.judging import oracles
from pytest_soclab.judging.oracles import Oracle
from pytest_soclab.policy.model import Engine, PolicySource
from pytest_soclab.scenario.load import LoadedIncident, LoadedScenario, load_incident
from pytest_soclab.scenario.model import GateName, Scenario
from pytest_soclab.scenario.vocabulary import Vocabulary
from pytest_soclab.soc.build import Prepared, check_tables, prepare
from pytest_soclab.soc.registry import Registry, Tool
from pytest_soclab.soc.servers import registry as standard_registry
from pytest_soclab.soc.servers import tables
from pytest_soclab.soc.withholding import withheld
from pytest_soclab.trials.plays.catalog import catalog, chosen
from pytest_soclab.trials.plays.proving import player, stage_of
from pytest_soclab.trials.plays.stage import Play, Stage
from pytest_soclab.trials.trial import Outcome
from pytest_soclab.trials.unit import PLAIN, Unit, make_unit
from pytest_soclab.trials.witness import opened, witness

if TYPE_CHECKING:
    from pytest_soclab.policy.server import ServerEngine


@dataclass(frozen=True)
class Extensions:
    """What plugins add to the closed sets."""

    tools: tuple[Tool, ...] = ()
    steps: tuple[type[Step], ...] = ()
    oracles: tuple[str, ...] = ()
    plays: tuple[Play, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all that plugins brought, sorted."""
        own = [*(tool.name for tool in self.tools), *map(step_name, self.steps), *(play.name for play in self.plays)]
        return tuple(sorted([*own, *self.oracles]))


@dataclass
class Lab:
    """The shared parts; everything is made when it is first needed."""

    settings: Settings
    extensions: Extensions = Extensions()
    key: bytes = field(default_factory=clock.signing_key)
    ids: dict[str, str] = field(default_factory=dict)
    """Scenario id to the file that has it, to refuse duplicates."""
    contents: dict[str, str] = field(default_factory=dict)
    """What a scenario says beside its names, to the file that says it: a copy is no evidence of its own."""
    above_level: set[str] = field(default_factory=set)
    """Scenario files that need a higher level than the one under test."""
    inapplicable: set[tuple[str, str]] = field(default_factory=set)
    """Plays that do not apply, by scenario: neither run nor counted."""
    several: bool = False
    """Whether a fixture with params was refused, which would run each trial several times."""
    profile: str = ""
    """SHA-256 of the session's assurance profile."""
    brought: Agent | None = None
    """The agent that the options name, None where a fixture gives it."""
    _incidents: dict[Path, tuple[LoadedIncident, Prepared]] = field(default_factory=dict)
    _units: dict[tuple[str, str, str], Unit] = field(default_factory=dict)
    _witnesses: dict[tuple[str, str, str], str] = field(default_factory=dict)
    _opened: dict[tuple[str, str, str], Outcome] = field(default_factory=dict)
    """The scripts' trials in the open world, until their witness is heard."""
    _stages: dict[tuple[str, str, str], Stage] = field(default_factory=dict)
    _players: dict[tuple[tuple[str, str, str], str], Obey | None] = field(default_factory=dict)
    _engine: Engine | None = None
    _asker: Any = None
    _opa: Any = None

    def __post_init__(self) -> None:
        standard = standard_registry()
        extra = self.extensions.tools
        self.registry: Registry = Registry.of([*standard.tools.values(), *extra]) if extra else standard
        self.oracles: dict[str, Oracle] = oracles.standard(self.registry)
        self.plays: dict[str, Play] = catalog(self.extensions.plays)
        self.chosen: tuple[str, ...] = chosen(self.plays, self.settings.plays)
        self.steps: dict[str, type[Step]] = dict(STEPS)
        self._add_steps(self.extensions.steps)
        self.withheld: frozenset[str] = withheld(self.registry, self.settings.withhold)
        self.vocabulary = self._vocabulary()

    def _add_steps(self, steps: Iterable[type[Step]]) -> None:
        """Add a plugin's harness steps; one that replaced another would attack less and still count as the attack."""
        for step in steps:
            name = step_name(step)
            if name in self.steps:
                raise UsageError(
                    f"the harness step {step.__module__}.{step.__qualname__} is named {name!r}, which is taken by "
                    f"{self.steps[name].__module__}.{self.steps[name].__qualname__}; give it another name"
                )
            self.steps[name] = step

    def add_oracles(self, extra: Sequence[Oracle]) -> None:
        """Add oracles of plugins; a name that is taken is a usage error."""
        for oracle in extra:
            if oracle.name in self.oracles:
                raise UsageError(f"an oracle {oracle.name!r} exists already; give the plugin's another name")
            if oracle.gate not in get_args(GateName):
                known = ", ".join(get_args(GateName))
                raise UsageError(f"the oracle {oracle.name!r} breaks the gate {oracle.gate!r}; give it one of {known}")
            self.oracles[oracle.name] = oracle
        self.extensions = replace(self.extensions, oracles=tuple(oracle.name for oracle in extra))
        self.vocabulary = self._vocabulary()

    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(
            {name: oracle.parameter for name, oracle in self.oracles.items()},
            self.steps,
            frozenset(self.registry.tools),
            check_tables,
            {name: table.key for name, table in tables().items()},
            self._call_faults,
        )

    def _call_faults(self, name: str, arguments: Mapping[str, Any]) -> list[str]:
        tool = self.registry.get(name)
        return schema_faults(tool, arguments) if tool else []

    @property
    def level(self) -> Level:
        """The authority level under test."""
        return Level(self.settings.level)

    def incident(self, path: Path) -> tuple[LoadedIncident, Prepared]:
        """Return an incident and its base tables, loaded once.

        Raises:
            ScenarioError: when the incident's file is wrong.
        """
        if path not in self._incidents:
            loaded = load_incident(path, self.vocabulary)
            self._incidents[path] = (loaded, prepare(loaded.data))
        return self._incidents[path]

    def unit(self, loaded: LoadedScenario, variant: str) -> Unit:
        """Return a (scenario, variant) with everything rendered, made once."""
        key = (str(loaded.path), loaded.digest, variant)
        if key not in self._units:
            incident, prepared = self.incident(loaded.incident_path)
            self._units[key] = make_unit(
                loaded, incident, prepared, variant, self.registry, self.oracles, self.steps
            )  # fmt: skip
        return self._units[key]

    def reach(self, path: Path, nodeid: str) -> Reach:
        """Return what becomes of every call that an incident's world spans, at the level under test.

        Raises:
            ScenarioError: when the incident's file is wrong.
            PolicyError: when the policy does not load.
        """
        from pytest_soclab.trials.reach.asking import Asker
        from pytest_soclab.trials.reach.incident import ground_of, reach_of

        engine = self.engine()
        if self._asker is None:
            self._asker = Asker(engine)
        return reach_of(ground_of(*self.incident(path), self.registry), self._asker, self.level, nodeid)

    def witness(self, unit: Unit) -> str:
        """Return why a unit cannot prove itself, or an empty text; found out once."""
        key = _key(unit)
        if key not in self._witnesses:
            needs_engine = bool(unit.harness) and "protected" in self.settings.arms
            plain = self._opened.pop(key, None) or opened(unit, unit.obey(), self.level)
            self._witnesses[key] = witness(unit, self.engine() if needs_engine else None, self.level, plain)
        return self._witnesses[key]

    def plays_of(self, scenario: Scenario, every: bool = False) -> tuple[str, ...]:
        """Return the derived plays that a scenario may be tried in: the chosen ones, or all that there are.

        An attack on the control plane itself is the harness's and not the script's, so there is nothing to derive.
        """
        attack = scenario.kind is Kind.ATTACK and not scenario.harness
        return tuple(name for name in self.plays if attack and (every or name in self.chosen))

    def player(self, unit: Unit, play: str) -> Obey | None:
        """Return the agent that plays a unit, None where the play does not apply; found out once."""
        if play == PLAIN:
            return unit.obey()
        key = _key(unit)
        if (key, play) not in self._players:
            self._players[key, play] = player(unit, self.plays[play], self._stage(unit), self.level)
        return self._players[key, play]

    def _stage(self, unit: Unit) -> Stage:
        key = _key(unit)
        if key not in self._stages:
            self._opened[key] = plain = opened(unit, unit.obey(), self.level)
            self._stages[key] = stage_of(unit, plain)
        return self._stages[key]

    def policy_path(self) -> Path:
        """Return the directory of the session's policy."""
        return Path(self.settings.policies) if self.settings.policies else resources.policies()

    def engine(self) -> Engine:
        """Return the session's policy engine, loaded once.

        Raises:
            PolicyError: when the policy is missing, does not compile or uses what the engine lacks.
            UsageError: when the OPA server does not answer.
        """
        if self._engine is None:
            self._engine = self._load_engine()
        return self._engine

    def _load_engine(self) -> Engine:
        from pytest_soclab.policy.load import load_policy

        source = load_policy(self.policy_path())
        if self.settings.opa_url or self.settings.opa_binary:
            return self._server(source)
        from pytest_soclab.policy.embedded import checked_engine

        return checked_engine(source)

    def _server(self, source: PolicySource) -> Engine:
        from pytest_soclab.policy.server import ServerEngine

        url = self.settings.opa_url
        if self.settings.opa_binary:
            from pytest_soclab.policy.process import start_opa

            self._opa = start_opa(self.settings.opa_binary)
            url = self._opa.url
        return self._rechecked(ServerEngine.connect(str(url), source, token_env=self.settings.opa_token_env))

    def _rechecked(self, server: ServerEngine) -> Engine:
        """Return a server's engine whose decisions the embedded one decides again, where it can take the policy."""
        from pytest_soclab.policy.embedded import EmbeddedEngine
        from pytest_soclab.policy.recheck import Rechecked

        every = self.settings.opa_recheck == "all"
        try:
            own = EmbeddedEngine(server.source, checked_by=server.checked_by)
        except PolicyError:
            if every:
                server.close()
                raise
            return server
        return Rechecked(server, own, every=every)

    def policy_info(self) -> PolicyInfo | None:
        """Return what the results say about the policy, None where no engine was needed."""
        if self._engine is None:
            return None
        source = self._engine.source
        rules = tuple(sorted({rule.reason for rule in source.rules}))
        titles = {rule.reason: rule.title for rule in source.rules if rule.title}
        shown = self.settings.policies or "bundled"
        address = None if self.settings.opa_binary else self._engine.address
        return PolicyInfo(
            engine=self._engine.kind, source=shown, digest=source.digest, package="soclab.gateway", rules=rules,
            address=address, checked_by=self._engine.checked_by, titles=titles,
        )  # fmt: skip

    def policy_change(self) -> str:
        """Return why the policy at the session's end is not the one that was loaded, or an empty text."""
        verify = getattr(self._engine, "verify", None)
        try:
            if verify is not None:
                verify()
        except PolicyUnavailable as error:
            return str(error)
        return ""

    def close(self) -> None:
        """Release the engine and stop the OPA process that the session started."""
        if self._engine is not None:
            self._engine.close()
        if self._opa is not None:
            self._opa.stop()


def _key(unit: Unit) -> tuple[str, str, str]:
    return str(unit.loaded.path), unit.loaded.digest, unit.variant


def step_name(step: type[Step]) -> str:
    """Return the name that a harness step has in a scenario file.

    Raises:
        UsageError: when the model has no `step: Literal[...]` field.
    """
    info = step.model_fields.get("step")
    names = get_args(info.annotation) if info else ()
    if not names:
        raise UsageError(f"the harness step {step.__name__} has no `step: Literal[...]` field")
    return str(names[0])
