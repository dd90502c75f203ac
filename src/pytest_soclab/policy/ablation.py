"""Asks what a policy's rules are good for: recorded decisions, decided again without a rule or under another policy.

Everything works on records; no agent runs and nothing is executed. A decision that was no answer of the policy
(`policy_unavailable`) says nothing about a rule and is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_soclab.base.errors import PolicyUnavailable
from pytest_soclab.policy.embedded import EmbeddedEngine
from pytest_soclab.policy.load import source_of
from pytest_soclab.policy.model import UNAVAILABLE, Decision, Engine, Obligation, PolicyOutcome, PolicySource
from pytest_soclab.policy.rego_text import without_rule

MakeEngine = Callable[[PolicySource], Engine]


def _derived(source: PolicySource) -> Engine:
    """Return an engine for a policy from which a rule was taken: what is left was tried with the whole."""
    return EmbeddedEngine(source, tried=True)


@dataclass(frozen=True, slots=True)
class Record:
    """One recorded decision: the trial and call it belongs to, its input, and the reason the scenario expects."""

    trial: str
    call: str
    input: Mapping[str, Any]
    decision: Decision
    expected_stop: str = ""


@dataclass(frozen=True, slots=True)
class Ablation:
    """What happens without one deny rule: trials with a call that is then allowed, and trials that miss a reason."""

    reason: str
    opened: Sequence[str]
    renamed: Sequence[str]

    @property
    def missed(self) -> bool:
        """Whether anything turns red without the rule."""
        return bool(self.opened or self.renamed)


@dataclass(frozen=True, slots=True)
class Difference:
    """A record and what another policy decides on its input; None where that policy gives no answer."""

    record: Record
    decision: Decision | None


@dataclass(frozen=True, slots=True)
class Replay:
    """What another policy decides otherwise: newly allowed, newly blocked, and allowed with other obligations."""

    allowed: Sequence[Difference]
    blocked: Sequence[Difference]
    obliged: Sequence[Difference]


def record_of(trial: str, event: Mapping[str, Any], expected_stop: str = "") -> Record:
    """Build a record from the data of a transcript's `decision` event."""
    obligations = tuple(Obligation(name) for name in event["obligations"])
    decision = Decision(PolicyOutcome(event["outcome"]), tuple(event["reasons"]), obligations)
    return Record(trial, str(event["call"]), event["input"], decision, expected_stop)


def coverage(records: Iterable[Record], reasons: Iterable[str]) -> dict[str, list[str]]:
    """Return for each reason, in the order given, the trials in which it alone stops a call."""
    alone: dict[str, set[str]] = {reason: set() for reason in reasons}
    for record in _answered(records):
        if len(record.decision.reasons) == 1 and record.decision.reasons[0] in alone:
            alone[record.decision.reasons[0]].add(record.trial)
    return {reason: sorted(trials) for reason, trials in alone.items()}


def ablate(source: PolicySource, records: Iterable[Record], engine: MakeEngine = _derived) -> list[Ablation]:
    """Take each deny rule out in turn and decide again every recorded input on which the whole policy gives its reason.

    Raises:
        PolicyError: when the policy, or what is left of it, does not load.
    """
    kept = list(_answered(records))
    whole = _decide_all(engine(source), kept)
    reasons = list(dict.fromkeys(rule.reason for rule in source.rules))
    return [_without(source, reason, kept, whole, engine) for reason in reasons]


def _without(
    source: PolicySource, reason: str, records: Sequence[Record], whole: Sequence[Decision | None], engine: MakeEngine
) -> Ablation:
    touched = [r for r, decision in zip(records, whole, strict=True) if decision and reason in decision.reasons]
    left = _decide_all(engine(_without_rules(source, reason)), touched) if touched else []
    opened = {r.trial for r, decision in zip(touched, left, strict=True) if _allows(decision)}
    renamed = {record.trial for record in touched if record.expected_stop == reason}
    return Ablation(reason, sorted(opened), sorted(renamed))


def _without_rules(source: PolicySource, reason: str) -> PolicySource:
    """Return the policy without the rules of one reason, under whatever names of its own."""
    modules = dict(source.modules)
    for own in {rule.own or rule.reason for rule in source.rules if rule.reason == reason}:
        modules = {name: without_rule(text, own) for name, text in modules.items()}
    return source_of(source.path, modules, source.data, source.names)


def replay(source: PolicySource, records: Iterable[Record], engine: MakeEngine = EmbeddedEngine) -> Replay:
    """Decide recorded inputs under another policy; no answer of that policy counts as blocked.

    Raises:
        PolicyError: when the policy does not load.
    """
    kept = list(_answered(records))
    after = _decide_all(engine(source), kept)
    pairs = [Difference(record, decision) for record, decision in zip(kept, after, strict=True)]
    went = [p for p in pairs if _allows(p.record.decision)]
    stood = [p for p in pairs if not _allows(p.record.decision)]
    return Replay(
        allowed=[p for p in stood if _allows(p.decision)],
        blocked=[p for p in went if not _allows(p.decision)],
        obliged=[p for p in went if _allows(p.decision) and p.decision != p.record.decision],
    )


def _allows(decision: Decision | None) -> bool:
    return decision is not None and decision.outcome is PolicyOutcome.ALLOW


def _answered(records: Iterable[Record]) -> Iterator[Record]:
    return (record for record in records if UNAVAILABLE not in record.decision.reasons)


def _decide_all(engine: Engine, records: Sequence[Record]) -> list[Decision | None]:
    try:
        return [_decide(engine, record.input) for record in records]
    finally:
        engine.close()


def _decide(engine: Engine, document: Mapping[str, Any]) -> Decision | None:
    try:
        return engine.decide(document)
    except PolicyUnavailable:
        return None
