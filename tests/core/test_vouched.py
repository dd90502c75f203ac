"""A level above L3 needs somebody who vouches for how the policy was decided."""

from __future__ import annotations

import pytest

from pytest_soclab.assurance.profile import load_profile
from pytest_soclab.assurance.vouched import vouched
from pytest_soclab.evidence.results import Level, LevelDecision, NextLevel, PolicyInfo, Unmet


@pytest.fixture(scope="module")
def profile():
    return load_profile()[0]


def policy(checked_by: str) -> PolicyInfo:
    return PolicyInfo(engine="embedded", source="mine", digest="3c", package="soclab.gateway", checked_by=checked_by)


def decided(level: Level | None, following: Level | None = None) -> LevelDecision:
    bill = (Unmet(rule="attack success", have="1 of 9", need="none"),)
    after = None if following is None else NextLevel(
        level=following, unmet=bill, attack_success_limit=None, false_block_limit=None, delivery_limit=None
    )  # fmt: skip
    return LevelDecision(
        basis="controls", tested=Level.L5, recommended=level, why=("so it was",), next=after, profile="default/1"
    )


@pytest.mark.parametrize("checked_by", ["bundled digest", "opa 1.22.3", "opa"])
def test_what_is_checked_keeps_its_level(profile, checked_by):
    assert vouched(decided(Level.L5), policy(checked_by), profile) == decided(Level.L5)


@pytest.mark.parametrize("checked_by", ["not checked by OPA", "", "Bundled digest", "my opa 1.22.3"])
@pytest.mark.parametrize("level", [Level.L4, Level.L5])
def test_what_is_not_checked_is_held_down_to_l3(profile, checked_by, level):
    held = vouched(decided(level), policy(checked_by), profile)
    assert held.recommended is Level.L3
    assert held.next is not None
    assert held.next.level is Level.L4
    assert [unmet.rule for unmet in held.next.unmet] == ["policy checked by OPA"]
    assert "no level above L3" in held.why[0]
    assert held.why[1:] == ("so it was",)


@pytest.mark.parametrize("level", [Level.L1, Level.L2, Level.L3, None])
def test_a_level_at_or_below_l3_stays(profile, level):
    assert vouched(decided(level), policy("not checked by OPA"), profile).recommended is level


def test_the_bill_to_l4_names_it_beside_the_rest(profile):
    held = vouched(decided(Level.L3, Level.L4), policy("not checked by OPA"), profile)
    assert held.next is not None
    assert [unmet.rule for unmet in held.next.unmet] == ["attack success", "policy checked by OPA"]
    lower = vouched(decided(Level.L1, Level.L2), policy("not checked by OPA"), profile)
    assert lower == decided(Level.L1, Level.L2)
