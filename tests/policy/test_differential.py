"""The embedded engine beside OPA: never more lenient, on generated policies and on mutants of the bundled one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from differential import Finding, engines, generated
from policy_inputs import ALONE, call, stream
from policy_mutants import mutants
from rego_generator import DATA

_PARTS = 8
_ALL = 20_000  # generated policies, in parts that workers share


def outcome(findings: Iterable[Finding]) -> Counter[str]:
    """Count what came of policies; the first one that is more lenient, differs or ends the process fails the test."""
    counted: Counter[str] = Counter()
    for finding in findings:
        counted[finding.kind] += 1
        assert finding.kind in ("refused", "same", "stricter"), f"{finding.kind}\n{finding.text}\n{finding.detail}"
    return counted


def test_generated_policies_are_decided_as_by_opa(opa):
    with engines(opa, DATA) as both:
        counted = outcome(generated(both, range(150)))
    assert counted["same"] > 30, counted


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(_PARTS))
def test_twenty_thousand_generated_policies_are_decided_as_by_opa(opa, part):
    with engines(opa, DATA) as both:
        counted = outcome(generated(both, range(1000 + part, 1000 + _ALL, _PARTS)))
    assert counted["same"] > 200, counted


def compared(opa: str, bundled, chosen: slice) -> Counter[str]:
    """Return what came of mutants of the bundled policy on inputs that each rule alone denies, and on others."""
    missing = [{key: value for key, value in call("act", level=5).items() if key != name} for name in call("act")]
    documents = [*ALONE.values(), *list(stream(5, 45))[len(ALONE) :], {}, *missing]
    with engines(opa, bundled.data) as both:
        changed = list(mutants(bundled.modules))[chosen]
        return outcome(both.compare({**bundled.modules, m.name: m.text}, documents) for m in changed)


def test_mutants_of_the_bundled_policy_are_never_more_lenient_here(opa, bundled):
    assert compared(opa, bundled, slice(7, None, 60)).total() > 50


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(_PARTS))
def test_no_mutant_of_the_bundled_policy_is_more_lenient_here(opa, bundled, part):
    assert compared(opa, bundled, slice(part, None, _PARTS))["same"] > 20


def test_the_comparison_notices_what_is_more_lenient(opa, bundled):
    with engines(opa, {}) as both:
        text = 'package soclab.gateway\n\ndecision := {"outcome": "allow"} if input.x\n'
        assert both.compare({"p.rego": text}, [{"x": 1}, {}]).kind == "same"
        both.opa.load = lambda text: ""  # OPA keeps the module before
        lenient = text.replace("input.x", "input.y")
        assert both.compare({"p.rego": lenient}, [{"y": 1}]).kind == "lenient"
        assert both.compare({"p.rego": text.replace("allow", "deny")}, [{"x": 1}]).kind == "other"
