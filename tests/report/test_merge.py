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


def refused(*parts: Results) -> str:
    with pytest.raises(UsageError) as found:
        merge.agree(parts)
    return str(found.value)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_shards_of_one_session_agree(count: int) -> None:
    merge.agree(shards(count))


def test_the_time_of_the_shards_is_joined_and_their_roots_are_not() -> None:
    parts = [s.model_copy(update={"timing": s.timing.model_copy(update={"root": "ab"})}) for s in shards(2)]
    assert merge.timing_of(parts).seconds == pytest.approx(8.4)
    assert merge.timing_of(parts).root == ""


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
