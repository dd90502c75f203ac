"""A policy with other names for its reasons: what is told at load, and what `reasons.yaml` mends."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pytest_soclab.base import resources

CHOSEN = ("--soclab-bundled", "-k", "ATK-001 and plain", "-p", "no:cacheprovider", "--soclab-policies=own")


def own_policy(folder: Path, mapped: str = "") -> None:
    """Write the bundled policy with another name for one of its reasons."""
    shutil.copytree(resources.policies(), folder / "own")
    for path in (folder / "own").glob("*.rego"):
        path.write_text(
            path.read_text(encoding="utf-8").replace('"protected_asset"', '"crown_jewel"'), encoding="utf-8"
        )
    if mapped:
        (folder / "own" / "reasons.yaml").write_text(mapped, encoding="utf-8")


def test_a_stop_without_a_rule_is_told_before_any_trial_runs(pytester: pytest.Pytester) -> None:
    own_policy(pytester.path)
    result = pytester.runpytest_inprocess(*CHOSEN)
    result.stdout.fnmatch_lines([
        "collected * item*",
        "soclab: own has no rule for protected_asset, so the `stopped_by` of ATK-001 cannot be met",
        "soclab: write the rule, or say in own/reasons.yaml which reason of yours it is: `*: protected_asset`",
        "*ATK-001*",
    ])  # fmt: skip
    result.assert_outcomes(failed=1)


def test_a_mapped_reason_meets_it_and_nothing_is_told(pytester: pytest.Pytester) -> None:
    own_policy(pytester.path, "crown_jewel: protected_asset\n")
    result = pytester.runpytest_inprocess(*CHOSEN)
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*has no rule for*")


def test_the_bundled_policy_needs_no_word(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess(*CHOSEN[:-1])
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("soclab: *")
