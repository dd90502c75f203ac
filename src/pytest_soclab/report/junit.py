"""Gives pytest's own JUnit file what it lacks about a trial: small properties, nothing else."""

from __future__ import annotations

from pytest_soclab.base.errors import printable
from pytest_soclab.evidence.results import Trial

_LONGEST = 200  # a property is a label, never a payload


def properties(trial: Trial) -> list[tuple[str, str]]:
    """Return the properties of a trial's test case, in a fixed order; every character is legal in XML 1.0."""
    values = {
        "soclab.scenario": trial.scenario,
        "soclab.version": str(trial.version),
        "soclab.tier": trial.tier.value,
        "soclab.family": trial.family.value,
        "soclab.verdict": trial.verdict.value,
        "soclab.stopped_by": trial.stopped_by,
        "soclab.delivered": str(trial.delivered).lower(),
    }
    return [(name, printable(value[:_LONGEST])) for name, value in values.items()]
