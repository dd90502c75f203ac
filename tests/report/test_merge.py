"""Shards of one session: joined when they belong together, refused otherwise, saying what differs."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_soclab.audit import merge
from pytest_soclab.base.errors import UsageError
from pytest_soclab.evidence.results import Level, Results

from . import build


def shards(count: int = 2, **options: Any) -> list[Results]:
    trials = build.trials_of()
    whole = build.results(trials, **options)
    return [
        build.results(trials[i::count], **options).model_copy(update={"counts": whole.counts, "digests": whole.digests})
        for i in range(count)
    ]


def decide(joined: merge.Joined) -> Results:
    return build.results(joined.trials).model_copy(update={"counts": joined.counts, "digests": joined.digests})


def refused(*parts: Results) -> str:
    with pytest.raises(UsageError) as found:
        merge.merge(parts, decide)
    return str(found.value)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_shards_together_are_the_session(count: int) -> None:
    whole = build.results()
    joined = merge.merge(shards(count), decide)
    assert {t.id for t in joined.trials} == {t.id for t in whole.trials}
    assert joined.rates == whole.rates
    assert joined.counts == whole.counts
    assert joined.digests == whole.digests


def test_order_of_the_shards_leaves_no_trace() -> None:
    parts = shards(3)
    assert merge.merge(parts, decide) == merge.merge(parts[::-1], decide)


def test_the_level_is_decided_anew() -> None:
    given: list[merge.Joined] = []

    def record(joined: merge.Joined) -> Results:
        given.append(joined)
        return build.results(joined.trials, recommended=Level.L2)

    parts = shards(2, recommended=None)
    assert merge.merge(parts, record).level.recommended is Level.L2
    assert given[0].tested is Level.L4
    assert "--soclab-shard=1/2" not in given[0].command
    assert given[0].timing.seconds == pytest.approx(8.4)


def test_a_trial_in_two_shards_is_refused() -> None:
    parts = shards(2)
    assert "19 trials" not in refused(parts[0], parts[0])
    assert "10 trials in more than one shard" in refused(parts[0], parts[0])
    assert "--soclab-shard=I/N" in refused(parts[0], parts[0])


@pytest.mark.parametrize(("field", "change"), [
    ("policy digest", {"digests": {"policy": "ff" * 32}}),
    ("corpus digest", {"digests": {"corpus": "ff" * 32}}),
    ("scenario ATK-001", {"digests": {"scenarios": {"ATK-001": "ff" * 32}}}),
    ("mode", {"mode": "baseline"}),
    ("tested level", {"level": {"tested": Level.L5}}),
    ("kind of evidence", {"level": {"basis": "agent"}}),
    ("agent", {"agent": {"model": "other"}}),
    ("policy engine", {"policy": {"engine": "server"}}),
    ("size of the corpus", {"counts": {"corpus": 99}}),
    ("pytest-soclab", {"timing": {"soclab": "0.2.0"}}),
])  # fmt: skip
def test_whatever_differs_is_named_with_both_values(field: str, change: dict[str, Any]) -> None:
    one, two = shards(2)
    update = {
        name: getattr(two, name).model_copy(update=value) if isinstance(value, dict) else value
        for name, value in change.items()
    }
    said = refused(one, two.model_copy(update=update))
    assert said.startswith(f"{field}: ")
    assert "(shard 1) and" in said
    assert "(shard 2)" in said


def test_all_differences_are_named_at_once() -> None:
    one, two = shards(2)
    other = two.model_copy(update={"mode": "baseline", "agent": two.agent.model_copy(update={"name": "x"})})
    assert len(refused(one, other).splitlines()) == 2


def test_nothing_to_join_is_refused() -> None:
    assert "found no results" in refused()


def test_a_collection_error_that_every_shard_met_is_one_error() -> None:
    parts = [
        s.model_copy(update={"counts": s.counts.model_copy(update={"errors": 1, "error_texts": ("bad.yaml:3: x",)})})
        for s in shards(3)
    ]
    joined = merge.merge(parts, decide)
    assert (joined.counts.errors, joined.counts.error_texts) == (1, ("bad.yaml:3: x",))
