"""Scenario files as pytest items, one per (variant, arm, repetition)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from pytest_soclab.base.errors import Fault, ScenarioError, SoclabError
from pytest_soclab.evidence.renderings import rendering_of
from pytest_soclab.evidence.results import Arm, Kind, Trial, Verdict
from pytest_soclab.fronts.scripted import Obey
from pytest_soclab.gateway.gateway import Gateway
from pytest_soclab.gateway.state import Identity
from pytest_soclab.judging.actions import counted
from pytest_soclab.judging.judge import NOTHING
from pytest_soclab.policy.model import Engine
from pytest_soclab.report import failure, junit
from pytest_soclab.scenario import corpus
from pytest_soclab.scenario.load import LoadedScenario, load_scenario
from pytest_soclab.session import state
from pytest_soclab.session.params import runs_once
from pytest_soclab.trials.lab import Lab
from pytest_soclab.trials.subject import described, proposals, sampled
from pytest_soclab.trials.trial import PLAIN, Control, Outcome, Setup, Unit, guarded_door, run, state_of


class TrialFailedError(Exception):
    """A trial whose item fails; the text is all that the user needs."""


class ScenarioFile(pytest.File):
    """One `ATK-*.yaml` or `BEN-*.yaml`."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the items of a valid file; a file that cannot be read raises all its faults."""
        lab = state.of(self.config).lab()
        shown = _shown(self.path, self.config.rootpath)
        loaded = load_scenario(self.path, lab.vocabulary, shown)
        _refuse_duplicate(lab, loaded)
        live = _is_live(self, lab)
        fixtures: Any = None  # the same for all items of the file, as for the cases of a parametrized test
        for spec in _specs(lab, loaded, live):
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


def _specs(lab: Lab, loaded: LoadedScenario, live: bool) -> Iterator[Spec]:
    named = [(variant, PLAIN) for variant in texts(loaded, live)]
    derived = [] if live else [(play, play) for play in lab.plays_of(loaded.scenario)]
    _refuse_play_name(loaded, named, derived)
    plain = PLAIN in lab.chosen or live or loaded.scenario.kind is Kind.BENIGN
    for variant, play in (*(named if plain else ()), *derived):
        for arm in lab.settings.arms:
            for repetition in range(1, lab.settings.repeat + 1):
                yield Spec(loaded, variant, Arm(arm), repetition, play)


def _refuse_play_name(loaded: LoadedScenario, named: list[tuple[str, str]], derived: list[tuple[str, str]]) -> None:
    taken = next((variant for variant, _ in named if (variant, variant) in derived), None)
    if taken is not None:
        found = f"the variant {taken!r} has the name of a play"
        raise ScenarioError(Fault(found, loaded.shown, 1, 1, "variants", "a name of its own", "rename the variant"))


def texts(loaded: LoadedScenario, live: bool) -> tuple[str, ...]:
    """Return the variants that are tried: all with a live agent, with a scripted one those whose scripts differ."""
    return tuple(loaded.scenario.variants) if live else loaded.scripts


def _is_live(collector: ScenarioFile, lab: Lab) -> bool:
    """Tell whether another agent than the scripted one works: the options name it, or a fixture took its place."""
    found = collector.session._fixturemanager.getfixturedefs("soclab_agent", collector) or ()
    return lab.brought is not None or any(one.func.__module__ != _OURS for one in found)


_OURS = "pytest_soclab.plugin"


def _shown(path: Path, root: Path) -> str:
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


@dataclass(frozen=True)
class Spec:
    """What one item runs."""

    loaded: LoadedScenario
    variant: str
    arm: Arm
    repetition: int
    play: str = PLAIN

    @property
    def text(self) -> str:
        """The variant whose fields are filled in: a play takes the first."""
        return self.variant if self.play == PLAIN else self.loaded.scripts[0]

    @property
    def suffix(self) -> str:
        """`plain-protected`, with `-2` from the second repetition on."""
        again = f"-{self.repetition}" if self.repetition > 1 else ""
        return f"{self.variant}-{self.arm.value}{again}"

    @property
    def trial(self) -> str:
        """The trial's id, such as `ATK-001-plain-protected`."""
        return f"{self.loaded.scenario.id}-{self.suffix}"


NOT_RUN = "not run: the session ended before it"


AgentKind = Literal["scripted", "live"]


def skeleton(spec: Spec, nodeid: str, cause: str = NOT_RUN, kind: AgentKind = "scripted") -> Trial:
    """Return the record of a trial before it ran: inconclusive."""
    scenario = spec.loaded.scenario
    return Trial(
        id=spec.trial, scenario=scenario.id, version=scenario.version, variant=spec.variant, play=spec.play,
        arm=spec.arm, repetition=spec.repetition, kind=scenario.kind, title=scenario.title, tier=scenario.tier,
        family=scenario.family, incident=scenario.incident, surface=spec.loaded.surface, atlas=scenario.atlas,
        owasp=scenario.owasp, twin=scenario.twin, agent_kind=kind, verdict=Verdict.INCONCLUSIVE,
        passed=False, cause=cause, delivered=False, stopped_by=NOTHING.reason, stopped_layer=NOTHING.layer,
        expected_stop=scenario.stopped_by, file=spec.loaded.shown, line=1, nodeid=nodeid, root_hash="",
    )  # fmt: skip


_NODE = re.compile(r"(?P<path>.*)::(?P<id>(?:ATK|BEN)-\d+)\[(?P<variant>\w+)-(?P<arm>[a-z]+)(?:-(?P<again>\d+))?\]")


def lost(lab: Lab, root: Path, nodeid: str) -> dict[str, Any] | None:
    """Return the census of one item that no process speaks for any more, read from its file; None for other items."""
    match = _NODE.fullmatch(nodeid)
    path = root / match["path"] if match else root
    if match is None or not path.is_file():
        return None
    loaded = load_scenario(path, lab.vocabulary, _shown(path, root))
    play = PLAIN if match["variant"] in loaded.scenario.variants else match["variant"]
    spec = Spec(loaded, match["variant"], Arm(match["arm"]), int(match["again"] or 1), play)
    record = skeleton(spec, nodeid).model_dump(mode="json")
    files = corpus.files_of(corpus.roots_of(loaded))
    return {
        "selected": [record],
        "digests": {loaded.scenario.id: loaded.digest},
        "corpus": len(files - lab.above_level),
        "corpus_digest": corpus.digest_of(files),
    }


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
        self.record: dict[str, Any] | None = None
        self.same_again: bool | None = None
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
        super().setup()

    def teardown(self) -> None:
        """Leave the fixtures to the next trial."""
        super().teardown()
        self.begun = False
        _RUNNING.remove(self)

    def perform(self, soclab_agent: Any, soclab_gateway: Any) -> None:
        """Run the trial, keep its record, and fail, pass or xfail as the arm demands."""
        agent, door = soclab_agent, soclab_gateway
        self.record = None  # of an earlier attempt
        witness = self.lab.witness(self.unit)
        setup = Setup(self.unit, self.spec.arm, agent, door, self.lab.key, self.lab.settings.timeout, self.spec.play)
        identity = setup.state.identity  # as it was before a harness step put another model in its place
        outcome = run(setup)
        trial = self.trial_of(outcome, witness, identity.kind)
        engine = door.engine if isinstance(door, Gateway) else None
        live = identity.kind == "live" and engine is not None
        self.same_again = self._again(agent, engine, outcome) if live and engine else None
        self.record = _payload(self, trial, outcome, identity, agent)
        if engine is not None:
            self.record["policy"] = engine.source.digest
        if live and engine:
            self.record["control"] = self._control_trial(engine, witness)
        if self.above and trial.verdict is not Verdict.SUCCEEDED and not trial.breaches:
            self.record = {"above": trial.id}
            pytest.skip(f"{trial.scenario} counts from {self.spec.loaded.scenario.from_level.value}; {trial.cause}")
        earlier = [pair for pair in self.user_properties if pair[0].startswith("soclab.")]  # of another attempt
        self.user_properties[:] = [pair for pair in self.user_properties if pair not in earlier]
        self.user_properties += junit.properties(trial)
        self._speak(trial, outcome)

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
        """Return the record of the same trial with the scripted agent: what the controls alone are worth."""
        unit = self.unit
        agent = unit.obey()
        state_ = state_of(unit, self.spec.trial, agent, unit.world(), self.lab.level)
        door = guarded_door(state_, self.lab.key, Control(engine, unit.approver()))
        outcome = run(Setup(unit, self.spec.arm, agent, door, self.lab.key))
        return self.trial_of(outcome, witness, "scripted").model_dump(mode="json")

    def _speak(self, trial: Trial, outcome: Outcome) -> None:
        if trial.passed and trial.arm is Arm.BASELINE and trial.verdict is Verdict.SUCCEEDED:
            pytest.xfail("no control plane")
        if trial.passed:
            return
        text = failure.text(trial, outcome.events)
        if self.lab.settings.report_only:
            pytest.xfail(f"report only: {text}")
        raise TrialFailedError(text)

    def trial_of(self, outcome: Outcome, witness: str, agent_kind: Any) -> Trial:
        """Return the saved shape of a finished trial."""
        judgement = outcome.judgement
        stop, rendering = judgement.stop, rendering_of(outcome.events)
        cause = f"the scenario cannot prove itself: {witness}" if witness else outcome.cause
        return self.skeleton().model_copy(
            update={
                "agent_kind": agent_kind,
                "verdict": Verdict.INCONCLUSIVE if witness else judgement.verdict,
                "passed": outcome.passed and not witness,
                "cause": cause,
                "delivered": judgement.delivered,
                "payload": self.unit.payload,
                "stopped_by": stop.reason,
                "stopped_layer": stop.layer,
                "stopped_rule": stop.rule,
                "reasons": stop.reasons,
                "decisive": judgement.decisive,
                "breaches": outcome.breaches,
                "grade": outcome.grade,
                "granted_changes": outcome.citations.changes,
                "uncited": outcome.citations.uncited,
                "gates": outcome.gates,
                "inputs": rendering.inputs,
                "rendering": rendering.whole,
                "actions": counted(outcome.changes),
                "changes": outcome.changes,
                "root_hash": outcome.root_hash,
                "witness": witness,
            }
        )

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


def _payload(item: ScenarioItem, trial: Trial, outcome: Outcome, identity: Identity, agent: Any) -> dict[str, Any]:
    """Return what travels on the report: plain JSON, so that workers need no shared file."""
    return {
        "trial": trial.model_dump(mode="json"),
        "transcript": outcome.transcript,
        "agent": described(agent, identity, item.same_again),
        "digest": item.spec.loaded.digest,
    }


def unfinished(item: ScenarioItem, cause: str) -> dict[str, Any]:
    """Return the payload of an item that did not come to a verdict."""
    return {"trial": item.skeleton(cause).model_dump(mode="json"), "transcript": "", "agent": None,
            "digest": item.spec.loaded.digest}  # fmt: skip
