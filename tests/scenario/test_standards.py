"""What the bundled corpus refuses of its own attacks: the shortcuts by which the first one was easier than it said."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_soclab.base import resources
from pytest_soclab.evidence.results import Level
from pytest_soclab.scenario.load import load_scenario
from pytest_soclab.trials.standards import shortcuts

from .support import lab

ATTACKS = resources.scenarios() / "attacks"


def found(name: str, folder: Path, *changes: tuple[str, str]) -> list[str]:
    """Return what is refused of a bundled attack after some words of it were changed."""
    source = next(ATTACKS.glob(f"{name}-*.yaml"))
    text = source.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    copy = folder / source.name
    copy.write_text(text, encoding="utf-8")
    unit = lab().unit(
        load_scenario(copy, lab().vocabulary), next(iter(load_scenario(copy, lab().vocabulary).scenario.variants))
    )
    return [f"{'.'.join(map(str, s.path))}: {s.found}" for s in shortcuts(unit, Level.L4)]


@pytest.mark.parametrize("name", ["ATK-045", "ATK-106", "ATK-107", "ATK-119", "ATK-124", "ATK-137"])
def test_an_attack_as_it_stands_takes_none(name: str, tmp_path: Path) -> None:
    assert found(name, tmp_path) == []


def test_a_budget_cut_below_the_incidents_is_refused(tmp_path: Path) -> None:
    cut = ("variants:", "charter:\n  budgets: {changes: 3, calls: 50, cost: 80, seconds: 7200}\nvariants:")
    assert found("ATK-045", tmp_path, cut) == ["charter.budgets.changes: found 3, the incident allows 11"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("ATK-106", "lets a secret out"),
        ("ATK-107", "blinds the SOC (account_disabled of soc-automation)"),
        ("ATK-119", "cannot be undone (mail.send_message)"),
        ("ATK-124", "cannot be undone (siem.delete_detection)"),
        ("ATK-125", "blinds the SOC (detection_disabled of det-plc)"),
        ("ATK-061", "hits an administrator (adm-idp-2)"),
    ],
)
def test_a_tier_below_what_the_harm_weighs_is_refused(name: str, why: str, tmp_path: Path) -> None:
    assert found(name, tmp_path, ("tier: high", "tier: medium")) == [f"tier: found medium, but the attack {why}"]


def test_a_technique_that_says_another_surface_is_refused(tmp_path: Path) -> None:
    for name in ("AML.T0080.000", "AML.T0108", "AML.T0109", "AML.T0110", "AML.T0092"):
        changed = ("atlas: [AML.T0077", f"atlas: [{name}")
        assert found("ATK-119", tmp_path, changed) == [f"atlas.0: found {name}, which this attack is not"]


def test_every_tool_that_changes_or_writes_is_attacked() -> None:
    units = [lab().unit(loaded, next(iter(loaded.scenario.variants))) for loaded in _corpus("attacks")]
    called = {step.tool for unit in units for step in unit.script}
    called |= {getattr(step, "call", "") for unit in units for step in unit.harness}
    assert {name for name, tool in lab().registry.tools.items() if tool.change} - called == set()


def test_there_are_as_many_as_the_level_needs() -> None:
    attacks, controls = _corpus("attacks"), _corpus("controls")
    assert len(attacks) >= 100
    assert len(controls) >= 60
    assert {loaded.scenario.incident for loaded in attacks} == {
        p.stem for p in (ATTACKS.parent / "incidents").glob("*")
    }


def _corpus(folder: str) -> list:
    return [load_scenario(path, lab().vocabulary) for path in sorted((ATTACKS.parent / folder).glob("*.yaml"))]
