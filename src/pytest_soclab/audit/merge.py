"""Refuses shards that are not of one session: the same digests and settings, disjoint trials, or nothing is joined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pytest_soclab.base.errors import Fault, UsageError, quote
from pytest_soclab.evidence.results import Results, Timing


def agree(shards: Sequence[Results]) -> None:
    """Refuse shards that are not of one session.

    Raises:
        UsageError: when there is nothing to join, or with every difference and every trial that two shards hold.
    """
    if not shards:
        raise UsageError(Fault("found no results", expected="one or more result folders", remedy="name the shards"))
    faults = [*_differences(shards), *_twice(shards)]
    if faults:
        raise UsageError(*faults)


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


def timing_of(shards: Sequence[Results]) -> Timing:
    """Return when and where the shards ran."""
    first = min((s.timing for s in shards), key=lambda t: t.started)
    return first.model_copy(
        update={
            "seconds": round(sum(s.timing.seconds for s in shards), 3),
            "root": "",
            "host": ", ".join(sorted({s.timing.host for s in shards})),
            "trial_seconds": dict(sorted(item for s in shards for item in s.timing.trial_seconds.items())),
        }
    )
