"""What callers catch: the errors of policies, scenarios, stored artifacts and scored runs."""

from __future__ import annotations

from pytest_soclab.base.errors import (
    ArtifactError,
    Fault,
    KnownAnswerError,
    PolicyError,
    PolicyUnavailable,
    ScenarioError,
    SoclabError,
    UsageError,
)

__all__ = [
    "ArtifactError",
    "Fault",
    "KnownAnswerError",
    "PolicyError",
    "PolicyUnavailable",
    "ScenarioError",
    "SoclabError",
    "UsageError",
]
