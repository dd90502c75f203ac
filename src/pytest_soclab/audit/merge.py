"""Joins the shards of one session: the same digests and settings, disjoint trials; anything else is refused.

The level is not joined: it is decided anew over all trials, by the function that is handed in, so that two shards can
never support more together than one session with the same trials would.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_soclab.base.errors import Fault, UsageError, quote
from pytest_soclab.evidence.results import (
    AgentInfo,
    Digests,
    Level,
    PolicyInfo,
    Results,
    ScenarioCount,
    Timing,
    Trial,
    Verdict,
)


@dataclass(frozen=True, slots=True)
class Joined:
    """What the shards hold together: everything of `Results` but what assurance decides."""

    mode: str
    tested: Level
    profile: str
    basis: str
    trials: tuple[Trial, ...]
    counts: ScenarioCount
    known_answer: dict[str, Any] | None
    agent: AgentInfo
    policy: PolicyInfo
    digests: Digests
    command: tuple[str, ...]
    timing: Timing


def merge(shards: Sequence[Results], decide: Callable[[Joined], Results]) -> Results:
    """Join the shards and let `decide` rebuild gates, rates and level over all their trials.

    Raises:
        UsageError: when there is nothing to join, or with every difference and every trial that two shards hold.
    """
    if not shards:
        raise UsageError(Fault("found no results", expected="one or more result folders", remedy="name the shards"))
    faults = [*_differences(shards), *_twice(shards)]
    if faults:
        raise UsageError(*faults)
    return decide(_join(shards))


def _differences(shards: Sequence[Results]) -> Iterator[Fault]:
    """Yield one fault for each thing in which the shards differ."""
    for name, values in _must_agree(shards).items():
        distinct = list(dict.fromkeys(values))
        if len(distinct) > 1:
            found = " and ".join(f"{quote(value)} (shard {values.index(value) + 1})" for value in distinct[:4])
            yield Fault(
                found, field=name, expected="one session's shards to agree", remedy="merge runs of one setup only"
            )


def _must_agree(shards: Sequence[Results]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {
        "mode": [s.mode for s in shards],
        "corpus digest": [s.digests.corpus for s in shards],
        "policy digest": [s.digests.policy for s in shards],
        "assurance profile": [f"{s.level.profile} {s.digests.profile}" for s in shards],
        "tested level": [s.level.tested.value for s in shards],
        "kind of evidence": [s.level.basis for s in shards],
        "agent": [s.agent.model_dump_json(exclude={"deterministic"}) for s in shards],
        "policy engine": [
            f"{s.policy.engine} {s.policy.package} {s.policy.address or ''} {s.policy.checked_by}" for s in shards
        ],
        "size of the corpus": [str(s.counts.corpus) for s in shards],
        "pytest-soclab": [s.timing.soclab for s in shards],
    }
    return found | _scenario_digests(shards)


def _scenario_digests(shards: Sequence[Results]) -> dict[str, list[str]]:
    """Return the digests of every scenario that two shards ran: they must be of one file."""
    found: dict[str, list[str]] = {}
    for shard in shards:
        for name, value in shard.digests.scenarios.items():
            found.setdefault(f"scenario {name}", []).append(value)
    return found


def _twice(shards: Sequence[Results]) -> Iterator[Fault]:
    counts = Counter(trial.id for shard in shards for trial in shard.trials)
    twice = sorted(name for name, number in counts.items() if number > 1)
    if twice:
        shown = ", ".join(quote(name) for name in twice[:10]) + (" …" if len(twice) > 10 else "")
        found = f"{len(twice)} trials in more than one shard: {shown}"
        yield Fault(
            found, field="trials", expected="disjoint shards", remedy="give each job its own --soclab-shard=I/N"
        )
    known = sum(shard.known_answer is not None for shard in shards)
    if known > 1:
        yield Fault(f"{known} shards with a known-answer section", field="known_answer", expected="at most one")


def _join(shards: Sequence[Results]) -> Joined:
    first = shards[0]
    trials = tuple(sorted((t for s in shards for t in s.trials), key=lambda t: t.id))
    scenarios = {name: value for s in shards for name, value in s.digests.scenarios.items()}
    known = next((s.known_answer for s in shards if s.known_answer is not None), None)
    return Joined(
        mode=first.mode,
        tested=first.level.tested,
        profile=first.level.profile,
        basis=first.level.basis,
        trials=trials,
        counts=_counts(shards, trials),
        known_answer=known,
        agent=first.agent.model_copy(update={"deterministic": all(s.agent.deterministic for s in shards)}),
        policy=first.policy,
        digests=first.digests.model_copy(update={"scenarios": dict(sorted(scenarios.items()))}),
        command=tuple(part for part in first.command if not part.startswith("--soclab-shard")),
        timing=_timing(shards),
    )


def _counts(shards: Sequence[Results], trials: Sequence[Trial]) -> ScenarioCount:
    """Count scenarios anew: variants of one scenario may have run in several shards.

    A collection error is met by every shard, so equal texts are one error.
    """
    texts = tuple(dict.fromkeys(text for s in shards for text in s.counts.error_texts))
    ran = {t.scenario for t in trials} - {t.scenario for t in trials if not _ended(t)}
    selected = len({t.scenario for t in trials})
    errors = max(len(texts), *(s.counts.errors for s in shards))
    return ScenarioCount(
        corpus=shards[0].counts.corpus, selected=selected, run=len(ran), errors=errors, error_texts=texts
    )


def _ended(trial: Trial) -> bool:
    return bool(trial.root_hash) or trial.verdict is not Verdict.INCONCLUSIVE


def _timing(shards: Sequence[Results]) -> Timing:
    first = min((s.timing for s in shards), key=lambda t: t.started)
    return first.model_copy(
        update={
            "seconds": round(sum(s.timing.seconds for s in shards), 3),
            "host": ", ".join(sorted({s.timing.host for s in shards})),
            "trial_seconds": dict(sorted(item for s in shards for item in s.timing.trial_seconds.items())),
        }
    )
