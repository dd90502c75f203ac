"""What the control plane adds to the policy engine's own round trip, per decision, over the whole bundled corpus.

Run `python benchmarks/decision.py [--quick] [--pairs N]`. Every scenario without harness steps is played behind the
gateway. `gateway` is everything from the proposal to the result: reading the call, facts, decision, approval, grant,
execution's check, receipt and log; the tool's own work in the simulated world counts to the rest of the trial. Each
pair is two whole rounds of the corpus in alternating order: one with the gateway, and the engine's part within it; one
in which regopy alone, as its own example does it, is put the same questions at the same moments. A third figure puts
them in a loop of nothing else, in which the processor's caches hold all that regopy needs: no session is like that.
Seconds are the processor's.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from common import arguments, row
from regopy import Input, Interpreter

from pytest_soclab.base import resources
from pytest_soclab.base.settings import Settings
from pytest_soclab.evidence.results import Arm
from pytest_soclab.evidence.store import Artifacts
from pytest_soclab.gateway.executor import Executor
from pytest_soclab.gateway.gateway import Door
from pytest_soclab.gateway.normal import Request
from pytest_soclab.gateway.state import ToolResult
from pytest_soclab.policy.model import ENTRYPOINT, Decision, Engine, PolicySource
from pytest_soclab.scenario.corpus import files_below
from pytest_soclab.scenario.load import LoadedScenario, load_scenario
from pytest_soclab.session.specs import Spec, skeleton
from pytest_soclab.trials import trial
from pytest_soclab.trials.lab import Lab
from pytest_soclab.trials.unit import Unit


@dataclass
class Watch:
    """Seconds of the processor spent in the parts of a round."""

    engine: float = 0.0
    gateway: float = 0.0
    tools: float = 0.0
    whole: float = 0.0
    files: float = 0.0
    regopy: float = 0.0
    inputs: list[Mapping[str, Any]] = field(default_factory=list)

    def over(self, part: str, work: Callable[..., Any], *given: Any) -> Any:
        """Do some work on a part's account."""
        started = time.process_time()
        try:
            return work(*given)
        finally:
            setattr(self, part, getattr(self, part) + time.process_time() - started)


@dataclass
class TimedEngine:
    """The engine, with a watch."""

    engine: Engine
    watch: Watch

    @property
    def source(self) -> PolicySource:
        """The policy."""
        return self.engine.source

    def decide(self, document: Mapping[str, Any]) -> Decision:
        """Decide and note the input."""
        self.watch.inputs.append(document)
        decision: Decision = self.watch.over("engine", self.engine.decide, document)
        return decision


@dataclass
class BareEngine(TimedEngine):
    """Puts each question to regopy alone, with a watch, and then to the engine, without one."""

    ask: Callable[[Mapping[str, Any]], object] = print

    def decide(self, document: Mapping[str, Any]) -> Decision:
        """Decide."""
        self.watch.over("regopy", self.ask, document)
        return self.engine.decide(document)


@dataclass
class TimedDoor:
    """The gateway, with a watch."""

    door: Door
    watch: Watch

    def serve(self, request: Request) -> ToolResult:
        """Serve a request."""
        result: ToolResult = self.watch.over("gateway", self.door.serve, request)
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.door, name)


Work = Sequence[tuple[LoadedScenario, Unit]]


def corpus(lab: Lab) -> Work:
    """Return the units of the bundled corpus that an agent alone plays."""
    paths = files_below([resources.scenarios()]).scenarios
    loaded = [load_scenario(path, lab.vocabulary) for path in paths]
    units = [(one, lab.unit(one, variant)) for one in loaded for variant in one.scenario.variants]
    return [(one, unit) for one, unit in units if not unit.harness]


Ask = Callable[[Mapping[str, Any]], object]


def play(lab: Lab, work: Work, artifacts: Artifacts, ask: Ask | None = None) -> Watch:
    """Play each unit once behind the gateway and write its record and transcript; with `ask`, regopy has the watch."""
    watch = Watch()
    engine = BareEngine(lab.engine(), watch, ask) if ask else TimedEngine(lab.engine(), watch)
    run_tool = Executor._run
    Executor._run = lambda self, proposal: watch.over("tools", run_tool, self, proposal)  # type: ignore[method-assign]
    try:
        for loaded, unit in work:
            watch.over("whole", one, lab, loaded, unit, artifacts, watch, engine)
    finally:
        Executor._run = run_tool  # type: ignore[method-assign]
    return watch


def one(  # noqa: PLR0917  # what a trial needs
    lab: Lab, loaded: LoadedScenario, unit: Unit, artifacts: Artifacts, watch: Watch, engine: TimedEngine
) -> None:
    """Play a unit."""
    spec = Spec(loaded, unit.variant, Arm.PROTECTED, 1)
    agent = unit.obey()
    state = trial.state_of(unit, spec.trial, agent, unit.world(), lab.level)
    control = trial.Control(engine, unit.approver())  # type: ignore[arg-type]
    door: Any = TimedDoor(trial.guarded_door(state, lab.key, control), watch)
    outcome = trial.run(trial.Setup(unit, Arm.PROTECTED, agent, door, lab.key))
    record = skeleton(lab, spec, "x").model_copy(update={"root_hash": outcome.root_hash})
    watch.over("files", artifacts.append, record.model_dump(mode="json"), outcome.transcript)


def bare(source: PolicySource) -> Callable[[Mapping[str, Any]], object]:
    """Return a function that asks the policy through regopy's public interface and nothing else."""
    interpreter = Interpreter()
    for name, text in source.modules.items():
        interpreter.add_module(name, text)
    interpreter.add_data_json(json.dumps(source.data))
    bundle = interpreter.build(None, [ENTRYPOINT])

    def ask(document: Mapping[str, Any]) -> object:
        interpreter.set_input(Input(document))
        return interpreter.query_bundle_entrypoint(bundle, ENTRYPOINT)[0].expressions[0]

    return ask


def alone(ask: Callable[[Mapping[str, Any]], object], inputs: Sequence[Mapping[str, Any]]) -> float:
    """Return the seconds that regopy alone needs for the same inputs."""
    started = time.process_time()
    for document in inputs:
        ask(document)
    return time.process_time() - started


def main() -> None:
    """Print the medians over the pairs."""
    options = arguments(__doc__)
    lab = Lab(Settings())
    work = corpus(lab)
    ask = bare(lab.engine().source)
    rounds = []
    with tempfile.TemporaryDirectory() as place:
        artifacts = Artifacts(Path(place))
        play(lab, work[:20], artifacts)
        for turn in range(options.pairs):
            first = play(lab, work, artifacts, ask if turn % 2 else None)
            second = play(lab, work, artifacts, None if turn % 2 else ask)
            ours, bare_ones = (second, first) if turn % 2 else (first, second)
            rounds.append((ours, bare_ones.regopy, alone(ask, ours.inputs)))
    report(rounds, len(work))


def report(rounds: Sequence[tuple[Watch, float, float]], trials: int) -> None:
    """Print the table."""

    def middle(value: Callable[[Watch, float], float], loop: bool = False) -> float:
        return median(value(watch, looped if loop else regopy) for watch, regopy, looped in rounds)

    decisions = len(rounds[0][0].inputs)
    size = median(len(json.dumps(document)) for document in rounds[0][0].inputs)
    row("decisions in a round; median input", f"{decisions}; {size:.0f} bytes")
    row("regopy alone, a decision", f"{middle(lambda _, r: r / decisions) * 1000:.2f} ms")
    row("our engine, a decision", f"{middle(lambda w, _: w.engine / decisions) * 1000:.2f} ms")
    row("gateway, a decision", f"{middle(lambda w, _: (w.gateway - w.tools) / decisions) * 1000:.2f} ms")
    row("gateway / regopy alone", f"{middle(lambda w, r: (w.gateway - w.tools) / r):.2f}", "at most 1.5")
    row("gateway / regopy in a loop of nothing else", f"{middle(lambda w, r: (w.gateway - w.tools) / r, True):.2f}")
    row("gateway / our engine", f"{middle(lambda w, _: (w.gateway - w.tools) / w.engine):.2f}", "at most 1.5")
    rest = middle(lambda w, _: (w.whole - w.gateway + w.tools) / trials) * 1000
    files = middle(lambda w, _: w.files / trials) * 1000
    row("rest of a trial (world, agent, tools, oracle, record, files)", f"{rest:.2f} ms", "at most 2 ms")
    row("  of it: writing transcript and record", f"{files:.2f} ms")


if __name__ == "__main__":
    sys.exit(main())
