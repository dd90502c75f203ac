"""Scenario files as pytest items, one per (variant, arm, repetition)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_soclab.base.errors import Fault, ScenarioError, SoclabError
from pytest_soclab.evidence.ledger import Event
from pytest_soclab.evidence.results import Arm, Kind, Trial, Verdict
from pytest_soclab.fronts.scripted import Obey
from pytest_soclab.gateway.gateway import Door, Gateway
from pytest_soclab.gateway.state import Identity
from pytest_soclab.policy.model import Engine
from pytest_soclab.report import failure, junit
from pytest_soclab.scenario import corpus
from pytest_soclab.scenario.load import LoadedScenario, load_scenario
from pytest_soclab.session import state
from pytest_soclab.session.params import runs_once
from pytest_soclab.session.payloads import payload, sources, stamp, unfinished
from pytest_soclab.session.resume import Earlier, key_of
from pytest_soclab.session.specs import NOT_RUN, AgentKind, Spec, skeleton, specs
from pytest_soclab.trials import records
from pytest_soclab.trials.conclusion import retryable
from pytest_soclab.trials.lab import Lab
from pytest_soclab.trials.subject import described, proposals, sampled
from pytest_soclab.trials.trial import Control, Outcome, Setup, guarded_door, run, state_of
from pytest_soclab.trials.unit import PLAIN, Unit


class TrialFailedError(Exception):
    """A trial whose item fails; the text is all that the user needs."""


class ScenarioFile(pytest.File):
    """One `ATK-*.yaml` or `BEN-*.yaml`."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the items of a valid file; a file that cannot be read raises all its faults."""
        lab = state.of(self.config).lab()
        shown = shown_path(self.path, self.config.rootpath)
        loaded = load_scenario(self.path, lab.vocabulary, shown)
        _refuse_duplicate(lab, loaded)
        live = _is_live(self, lab)
        fixtures: Any = None  # the same for all items of the file, as for the cases of a parametrized test
        for spec in specs(lab, loaded, live):
            item = _item(self, lab, spec, fixtures)
            item.live = live
            if fixtures is None and not runs_once(lab, item):
                return
            fixtures = item._fixtureinfo
            yield item

    def repr_failure(  # type: ignore[override]  # pytest calls it with the exception alone
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> Any:
        """Show our own errors as their faults, without a traceback."""
        if isinstance(excinfo.value, SoclabError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


def _is_live(collector: ScenarioFile, lab: Lab) -> bool:
    """Tell whether another agent than the scripted one works: the options name it, or a fixture took its place."""
    found = collector.session._fixturemanager.getfixturedefs("soclab_agent", collector) or ()
    return lab.brought is not None or any(one.func.__module__ != _OURS for one in found)


_OURS = "pytest_soclab.plugin"


def shown_path(path: Path, root: Path) -> str:
    """Return a path as reports print it: from the root where it lies below it."""
    return os.path.relpath(path, root) if path.is_relative_to(root) else str(path)


def _refuse_duplicate(lab: Lab, loaded: LoadedScenario) -> None:
    first = lab.ids.setdefault(loaded.scenario.id, str(loaded.path))
    if first != str(loaded.path):
        found = f"the id {loaded.scenario.id!r} is also in {first}"
        raise ScenarioError(Fault(found, loaded.shown, 1, 1, "id", "one file an id", "give one of them another id"))
    copied = lab.contents.setdefault(loaded.essence, str(loaded.path))
    if copied != str(loaded.path):
        found, expected = f"the scenario says the same as {copied}", "evidence of its own"
        raise ScenarioError(Fault(found, loaded.shown, 1, 1, "", expected, "change what it tries, or take it out"))


def _item(parent: ScenarioFile, lab: Lab, spec: Spec, fixtures: Any) -> ScenarioItem:
    name = f"{spec.loaded.scenario.id}[{spec.suffix}]"
    item: ScenarioItem = ScenarioItem.from_parent(
        parent, name=name, callobj=scenario_trial, fixtureinfo=fixtures, lab=lab, spec=spec
    )
    return item


def scenario_trial(soclab_agent: Any, soclab_gateway: Any) -> None:
    """Run one trial; every part is a fixture that a conftest may override, those of the gateway too."""
    raise NotImplementedError  # each item puts its own `perform` in this place, which has the same parameters


_RUNNING: list[ScenarioItem] = []
"""The item that is being run; several where a test runs pytest within itself."""


def running() -> ScenarioItem | None:
    """Return the item whose parts the fixtures make."""
    return _RUNNING[-1] if _RUNNING else None


class ScenarioItem(pytest.Function):
    """One trial of one (scenario, variant, arm)."""

    def __init__(self, *, lab: Lab, spec: Spec, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        state.settle_id(self)
        self.obj = self.perform
        self.lab = lab
        self.spec = spec
        self.live = False
        """Whether another agent than the scripted one works in this file."""
        self.attempts: list[dict[str, Any]] = []
        """What travels on the report: every attempt at the trial."""
        self.before = 0
        """How many attempts there were when pytest last began to run the item."""
        self.begun = False
        """Whether its fixtures are being made: a skip before that leaves it out of the selection."""
        scenario = spec.loaded.scenario
        marks = [scenario.kind.value, f"tier_{scenario.tier.value}", f"family_{scenario.family.value}"]
        for mark in (*marks, f"incident_{scenario.incident.replace('-', '_')}", f"arm_{spec.arm.value}"):
            self.add_marker(state.of(self.config).mark(mark))
        high = scenario.from_level.rank > lab.level.rank
        self.above = high and scenario.kind is Kind.ATTACK and spec.arm is Arm.PROTECTED
        """Whether the attack counts only from a higher level on: it is tried all the same, and seen if it succeeds."""
        if high:
            lab.above_level.add(corpus.real(self.path))
        if high and not self.above:
            reason = f"{scenario.id} needs {scenario.from_level.value}; the session tests {lab.level.value}"
            self.add_marker(pytest.mark.skip(reason=reason))

    @property
    def unit(self) -> Unit:
        """The (scenario, variant) with everything rendered."""
        return self.lab.unit(self.spec.loaded, self.spec.text)

    def applies(self) -> bool:
        """Tell whether the play can be derived for this scenario and succeeds without a control plane."""
        if self.spec.play == PLAIN:
            return True
        try:
            unit = self.unit
        except ScenarioError:  # the trial says what is wrong
            return True
        return self.lab.player(unit, self.spec.play) is not None

    def obey(self) -> Obey:
        """Return the scripted agent of this item's play."""
        return self.lab.player(self.unit, self.spec.play) or self.unit.obey()

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the scenario's file and first line."""
        return self.path, 0, self.name

    @property
    def location(self) -> tuple[str, int | None, str]:
        """The place that reports print."""
        return self.spec.loaded.shown, 0, self.name

    def setup(self) -> None:
        """Have the fixtures make the parts of this trial."""
        self.begun = True
        _RUNNING.append(self)
        self.before = len(self.attempts)
        super().setup()

    def teardown(self) -> None:
        """Leave the fixtures to the next trial."""
        super().teardown()
        self.begun = False
        _RUNNING.remove(self)

    def perform(self, soclab_agent: Any, soclab_gateway: Any) -> None:
        """Run the trial, keep its record, and fail, pass or xfail as the arm demands."""
        agent, door = soclab_agent, soclab_gateway
        identity = door.state.identity  # as it was before a harness step put another model in its place
        key = self._key(agent, door, identity)
        earlier = self._earlier(key)
        if earlier is not None:
            self._keep({**earlier.payload, "sources": sources(self.spec.loaded)})
            self._settle(Trial.model_validate_json(json.dumps(earlier.payload["trial"])), earlier.events)
            return
        witness = self.lab.witness(self.unit)
        outcome, retries = self._outcome(agent, door)
        trial = self.trial_of(outcome, witness, identity.kind)
        engine = door.engine if isinstance(door, Gateway) else None
        live = identity.kind == "live" and engine is not None
        same = self._again(agent, engine, outcome) if live and engine else None
        record = payload(self.spec.loaded, trial, outcome, described(agent, identity, same))
        record |= {"key": key, "retries": retries}
        if engine is not None:
            record["policy"] = engine.source.digest
        if live and engine:
            record |= self._control_trial(engine, witness)
        if self.above and trial.verdict is not Verdict.SUCCEEDED and not trial.breaches:
            self._keep({"above": trial.id})
            pytest.skip(f"{trial.scenario} counts from {self.spec.loaded.scenario.from_level.value}; {trial.cause}")
        self._keep(record)
        self._settle(trial, outcome.events)

    def _settle(self, trial: Trial, events: Sequence[Event]) -> None:
        """Say how the trial ended, in the JUnit file's properties and as the item's outcome."""
        earlier = [pair for pair in self.user_properties if pair[0].startswith("soclab.")]  # of another attempt
        self.user_properties[:] = [pair for pair in self.user_properties if pair not in earlier]
        self.user_properties += junit.properties(trial)
        self._speak(trial, events)

    def _key(self, agent: Any, door: Door, identity: Identity) -> str:
        policy = door.engine.source.digest if isinstance(door, Gateway) else ""
        return key_of(self.unit, self.spec.trial, described(agent, identity, None), policy, self.lab)

    def _earlier(self, key: str) -> Earlier | None:
        """Return the trial as an earlier session finished it, where nothing that it depends on has changed."""
        resumed = state.of(self.config).resumed()
        if resumed is None:
            return None
        if resumed.changed(self.spec.trial, key):
            self.user_properties.append(("soclab.run_again", "what the trial depends on has changed"))
        return resumed.get(self.spec.trial, key)

    def _outcome(self, agent: Any, door: Door) -> tuple[Outcome, int]:
        """Run the trial, again where the agent's surroundings failed before it attempted anything."""
        spec, lab = self.spec, self.lab
        outcome = run(self._setup(agent, door))
        retries = 0
        while retries < lab.settings.retry and isinstance(door, Gateway) and retryable(outcome.events):
            retries += 1
            fresh = state_of(self.unit, spec.trial, agent, self.unit.world(), lab.level, withheld=lab.withheld)
            again = guarded_door(fresh, lab.key, Control(door.engine, door.approver))
            identity = door.state.identity
            failed = self.trial_of(outcome, "", identity.kind)
            told = payload(self.spec.loaded, failed, outcome, described(agent, identity, None))
            self._keep({**told, "retried": True})
            outcome = run(self._setup(agent, again))
        return outcome, retries

    def _setup(self, agent: Any, door: Door) -> Setup:
        spec, lab = self.spec, self.lab
        return Setup(self.unit, spec.arm, agent, door, lab.key, lab.settings.timeout, lab.profile, spec.play)

    def unfinished(self, cause: str) -> None:
        """Keep an attempt that came to no verdict."""
        self.attempts.append(unfinished(self.spec.loaded, self.skeleton(cause)))

    def _keep(self, record: dict[str, Any]) -> None:
        """Keep an attempt until the item is over: a plugin that runs it again may log the last report alone."""
        self.attempts.append({**record, "stamp": stamp()})

    def _again(self, agent: Any, engine: Engine, first: Outcome) -> bool | None:
        """Return whether an agent that calls itself deterministic proposes the same again; None where not asked."""
        declared = getattr(agent, "deterministic", False) is True
        if not declared or not sampled(self.spec.loaded.digest, self.spec.variant):
            return None
        withheld = self.lab.withheld
        state_ = state_of(self.unit, self.spec.trial, agent, self.unit.world(), self.lab.level, withheld=withheld)
        door = guarded_door(state_, self.lab.key, Control(engine, self.unit.approver()))
        setup = Setup(self.unit, self.spec.arm, agent, door, self.lab.key, self.lab.settings.timeout)
        return proposals(run(setup).events) == proposals(first.events)

    def _control_trial(self, engine: Engine, witness: str) -> dict[str, Any]:
        """Return the same trial with the scripted agent, which shows what the controls alone are worth."""
        unit = self.unit
        agent = unit.obey()
        state_ = state_of(unit, self.spec.trial, agent, unit.world(), self.lab.level)
        door = guarded_door(state_, self.lab.key, Control(engine, unit.approver()))
        outcome = run(Setup(unit, self.spec.arm, agent, door, self.lab.key, profile=self.lab.profile))
        trial = self.trial_of(outcome, witness, "scripted")
        return {"control": trial.model_dump(mode="json"), "control_transcript": outcome.transcript}

    def _speak(self, trial: Trial, events: Sequence[Event]) -> None:
        if trial.passed and trial.arm is Arm.BASELINE and trial.verdict is Verdict.SUCCEEDED:
            pytest.xfail("no control plane")
        if trial.passed:
            return
        text = failure.text(trial, events)
        if self.lab.settings.report_only:
            pytest.xfail(f"report only: {text}")
        raise TrialFailedError(text)

    def trial_of(self, outcome: Outcome, witness: str, agent_kind: Any) -> Trial:
        """Return the saved shape of a finished trial."""
        ended = records.Ended(
            outcome.conclusion, outcome.events, self.unit.payload, outcome.root_hash, agent_kind, witness
        )
        return records.finished(self.skeleton(), ended)

    def skeleton(self, cause: str = NOT_RUN) -> Trial:
        """Return the record of this item before it ran: inconclusive."""
        return skeleton(self.spec, self.nodeid, cause, self._kind())

    def _kind(self) -> AgentKind:
        """Return what agent a trial that did not run would have had: ours, unless an option or a fixture brings one."""
        made = self._fixtureinfo.name2fixturedefs.get("soclab_agent") or ()
        ours = bool(made) and made[-1].func.__module__ == f"{__name__.partition('.')[0]}.plugin"
        return "scripted" if ours and self.lab.brought is None else "live"

    def repr_failure(  # type: ignore[override]  # pytest calls it with the exception alone
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> Any:
        """Show a failed trial and our own errors as text, anything else as pytest does."""
        if isinstance(excinfo.value, TrialFailedError | SoclabError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)
