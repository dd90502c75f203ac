"""Makes a trial's record anew, from its transcript and the copied scenario, and says where the stored one differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_soclab.base.errors import SoclabError, printable, quote
from pytest_soclab.base.settings import Settings
from pytest_soclab.evidence.answers import EVENT
from pytest_soclab.evidence.events import EventFault, Fact, TrialStarted, entries_of
from pytest_soclab.evidence.ledger import Event
from pytest_soclab.evidence.results import Trial
from pytest_soclab.scenario.load import LoadedScenario, load_scenario
from pytest_soclab.trials.conclusion import Conclusion, charter_for, conclude, sealed
from pytest_soclab.trials.lab import Lab
from pytest_soclab.trials.records import Ended, Place, before_it_ran, finished
from pytest_soclab.trials.trial import answers_of
from pytest_soclab.trials.unit import PLAIN, Unit


@dataclass
class Judge:
    """Judges the transcripts of one session again, by the scenario files that it kept.

    `foreign` are the words of plugins: a scenario that cannot be read without them is taken at its record's word.
    """

    files: dict[str, Path]
    """The copied scenario files by scenario id."""
    level: str
    profile: str
    foreign: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    """What was taken from the agent, as the option says it."""
    taken_on_trust: set[str] = field(default_factory=set)
    """Scenarios that need a plugin's words."""
    _loaded: dict[str, LoadedScenario] = field(default_factory=dict)
    _lab: Lab | None = None

    @property
    def lab(self) -> Lab:
        """The parts that scenarios are made with."""
        if self._lab is None:
            self._lab = Lab(Settings(level=self.level, withhold=self.withheld))
        return self._lab

    def fault(self, trial: Trial, digest: str, events: Sequence[Event], control: bool = False) -> str:
        """Return where a stored record differs from what its transcript shows, or an empty text."""
        try:
            entries = entries_of(events)
            unit = self.unit(trial, digest)
            again = self._again(unit, trial, events) if unit is not None else trial
            return next(self._differences(trial, again, entries[0].fact, control), "")
        except (_Unlike, EventFault) as error:
            return str(error)
        except (KeyError, TypeError, ValueError, AttributeError) as error:  # a policy's input is any JSON object
            return f"holds a policy input that no session writes ({type(error).__name__})"

    def _differences(self, trial: Trial, again: Trial, first: Fact, control: bool) -> Iterator[str]:
        assert isinstance(first, TrialStarted), "entries_of gives no other"
        named = {
            "trial": trial.id, "scenario": trial.scenario, "variant": trial.variant, "arm": trial.arm.value,
            "profile": self.profile,
        }  # fmt: skip
        for name, expected in named.items():
            if getattr(first, name) != expected:
                yield f"event 0: found {name} {printable(str(getattr(first, name)))}, expected {expected}"
        own, other = trial.model_dump(mode="json"), again.model_dump(mode="json")
        beside = " of the scripted trial beside it" if control else ""
        for name in own:
            if own[name] != other[name]:
                yield f"shows {name} {quote(str(other[name]))}, the record{beside} says {quote(str(own[name]))}"

    def unit(self, trial: Trial, digest: str) -> Unit | None:
        """Return the unit of a trial, None where it needs what a plugin added."""
        loaded = self._scenario(trial)
        if loaded is None:
            return None
        if loaded.digest != digest:
            raise _Unlike(f"found the scenario {trial.scenario} with another digest than the log names")
        return self.lab.unit(loaded, self._text(trial, loaded))

    def _text(self, trial: Trial, loaded: LoadedScenario) -> str:
        """Return the variant whose fields were filled in: a derived play takes the first."""
        if trial.play == PLAIN:
            if trial.variant not in loaded.scenario.variants:
                raise _Unlike(f"found the variant {quote(trial.variant)}, which {loaded.path.name} does not have")
            return trial.variant
        known = trial.play in self.foreign or trial.play in self.lab.plays_of(loaded.scenario, every=True)
        if not known or trial.variant != trial.play or trial.agent_kind == "live":
            raise _Unlike(f"found the play {quote(trial.play)}, which {loaded.path.name} is not tried in")
        return loaded.scripts[0]

    def _scenario(self, trial: Trial) -> LoadedScenario | None:
        name = trial.scenario
        if name not in self._loaded and name not in self.taken_on_trust:
            path = self.files.get(name)
            if path is None:
                raise _Unlike(f"found no copy of the scenario {quote(name)} among the inputs")
            try:
                self._loaded[name] = load_scenario(path, self.lab.vocabulary, trial.file)
            except SoclabError as error:
                if not self.foreign:
                    raise _Unlike(f"the copied scenario cannot be read: {str(error).splitlines()[0]}") from None
                self.taken_on_trust.add(name)
        return self._loaded.get(name)

    def _again(self, unit: Unit, trial: Trial, events: Sequence[Event]) -> Trial:
        first, last = events[0]["data"], events[-1]["data"]
        live = trial.agent_kind == "live"
        charter = charter_for(unit.base.charter, str(first["model"]), live)
        matter = unit.matter(trial.arm, scripted=not live, charter=charter, play=trial.play)
        found = conclude(matter, [event for event in events[:-1] if event["type"] != EVENT], str(last["cause"]))
        self._compare_answers(unit, found, events)
        place = Place(trial.id, trial.nodeid, trial.variant, trial.arm, trial.repetition, trial.play)
        before = before_it_ran(unit.loaded, place, "").model_copy(update={"file": trial.file})
        ended = Ended(found, events, unit.payload, str(events[-1]["hash"]), trial.agent_kind, trial.witness)
        said = {name: last.get(name) for name in ("verdict", "delivered", "stopped_by", "breaches")}
        if said != sealed(found.judgement, found.breaches):
            raise _Unlike(f"event {events[-1]['seq']}: found {quote(str(said['verdict']))}, which is not what it shows")
        return finished(before, ended)

    def _compare_answers(self, unit: Unit, found: Conclusion, events: Sequence[Event]) -> None:
        """Refuse answers that are not those which the events before them show."""
        stored = [event["data"] for event in events if event["type"] == EVENT]
        expected = [answers_of(unit, found, self.lab.withheld).model_dump(mode="json")] if found.answers else []
        if stored != expected or (stored and events[-2]["type"] != EVENT):
            raise _Unlike("holds answers that are not those which it shows")


class _Unlike(Exception):  # noqa: N818 - a finding, not an error
    """A record that does not follow from its transcript."""
