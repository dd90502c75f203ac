"""What one item runs: which variant or play of a scenario, in which arm, for which time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pytest_soclab.base.errors import Fault, ScenarioError
from pytest_soclab.evidence.results import Arm, Kind, Trial
from pytest_soclab.scenario.load import LoadedScenario
from pytest_soclab.trials import records
from pytest_soclab.trials.lab import Lab
from pytest_soclab.trials.unit import PLAIN


def specs(lab: Lab, loaded: LoadedScenario, live: bool) -> Iterator[Spec]:
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
    place = records.Place(spec.trial, nodeid, spec.variant, spec.arm, spec.repetition, spec.play)
    return records.before_it_ran(spec.loaded, place, cause).model_copy(update={"agent_kind": kind})
