"""Gathers what a session's log says into facts: the same fold while the session runs and when it is read back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from pytest_soclab.assurance.assemble import Facts, results_of
from pytest_soclab.assurance.profile import Profile
from pytest_soclab.assurance.units import WORST
from pytest_soclab.evidence.results import Reach, Results, Timing, Trial
from pytest_soclab.evidence.session_log import (
    Collected,
    Fact,
    FileFailed,
    InputKept,
    KnownAnswers,
    PolicyChanged,
    ReachTried,
    Selected,
    SessionEnded,
    SessionStarted,
    TrialEnded,
    TriedAbove,
    WorkerLost,
)


@dataclass
class Gathered:
    """What is known of a session so far."""

    facts: Facts
    policies: set[str] = field(default_factory=set)
    """Digests of the policies that decided in trials."""
    scenarios: set[str] = field(default_factory=set)
    """The ids of the scenarios that were selected."""
    chosen: set[str] = field(default_factory=set)
    """Those that were not left out."""
    attempts: dict[str, int] = field(default_factory=dict)
    """How many attempts each trial had."""
    counted: dict[str, int] = field(default_factory=dict)
    """Which attempt of each trial counts: the worst, and of several the first."""

    @classmethod
    def of(cls, start: SessionStarted) -> Gathered:
        """Return what the first fact says."""
        return cls(Facts(start.mode, start.level, start.command, withheld=start.withheld))

    @property
    def any_file(self) -> bool:
        """Whether any scenario was found at all, selected or not."""
        return bool(self.facts.corpus or self.facts.above or self.facts.scenario_digests)

    def take(self, fact: Fact) -> None:
        """Take in one fact that is no trial's."""
        match fact:
            case Collected():
                self._collected(fact)
            case Selected():
                self.chosen |= set(fact.scenarios)
                self.facts.selected = len(self.chosen)
            case TriedAbove():
                self.facts.above_tried |= {fact.trial}
            case ReachTried():
                self._reached(fact.reach)
            case FileFailed():
                self.facts.errors = tuple(dict.fromkeys((*self.facts.errors, fact.text)))
            case PolicyChanged():
                self.facts.policy_changed = self.facts.policy_changed or fact.why
            case KnownAnswers():
                self.facts.known_answer = fact.document
            case SessionStarted() | InputKept() | WorkerLost() | SessionEnded() | TrialEnded():
                pass
            case _:
                assert_never(fact)

    def _reached(self, reach: Reach) -> None:
        """Take in an incident's reach; of several attempts at it the first that did not pass counts."""
        earlier = self.facts.reach.get(reach.incident)
        if earlier is None or earlier.passed:
            self.facts.reach[reach.incident] = reach

    def _collected(self, fact: Collected) -> None:
        facts = self.facts
        facts.scenario_digests.update(fact.digests)
        facts.corpus_digest = facts.corpus_digest or fact.corpus_digest
        facts.variants.update(fact.variants)
        facts.corpus = max(facts.corpus, fact.corpus)
        facts.above.update(fact.above)
        facts.repeat = max(facts.repeat, fact.repeat)
        facts.policy = facts.policy or fact.policy
        facts.incidents |= frozenset(fact.incidents)
        facts.known_selected |= frozenset(fact.known_answers)
        self.scenarios |= set(fact.scenarios)
        facts.selected = len(self.scenarios)

    def take_trial(self, fact: TrialEnded, trial: Trial, control: Trial | None) -> bool:
        """Take in one attempt at a trial and tell whether it is the one that counts: of several the worst."""
        self.attempts[trial.id] = max(self.attempts.get(trial.id, 0), fact.attempt)
        if fact.retried:
            return False
        earlier = self.facts.trials.get(trial.id)
        self.facts.scenario_digests[trial.scenario] = fact.digest
        if fact.agent is not None and fact.agent not in self.facts.agents:
            self.facts.agents.append(dict(fact.agent))
        if fact.policy:
            self.policies.add(fact.policy)
        if earlier is not None and badness(earlier) <= badness(trial):
            return False
        self.facts.trials[trial.id] = trial
        self.counted[trial.id] = fact.attempt
        if control is not None:
            self.facts.control_trials[trial.id] = control
        return True

    def results(self, profile: Profile, digest: str, timing: Timing) -> Results:
        """Return the record of the session."""
        facts = self.facts
        self._other_policies()
        if facts.known_answer is not None and not (facts.trials or facts.errors):
            facts.mode = "known-answer"
        return results_of(facts, profile, digest, timing)

    def _other_policies(self) -> None:
        """A conftest that puts another engine in place measures another policy than the one that the results name."""
        own = self.facts.policy.digest if self.facts.policy else ""
        if own and self.policies - {own} and not self.facts.policy_changed:
            other = ", ".join(sorted(digest[:12] for digest in self.policies - {own}))
            remedy = "use --soclab-policies instead of overriding soclab_policy"
            self.facts.policy_changed = f"trials were decided by policy {other}, the session's is {own[:12]}; {remedy}"


def badness(trial: Trial) -> tuple[int, bool, bool]:
    """Return how bad a trial ended, the worst first: pytest can run an item again until it pleases."""
    return WORST.index(trial.verdict), trial.passed, not trial.breaches
