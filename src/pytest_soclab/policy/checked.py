"""Says by whom it was checked that a policy is decided as OPA decides it."""

from __future__ import annotations

from pytest_soclab.policy.model import PolicySource

BUNDLED_DIGEST = "bundled digest"
UNCHECKED = "not checked by OPA"
PROVED_DIGESTS = frozenset({""})
"""Digests of the bundled policy as the tests compared it with OPA: a changed policy is another one."""


def checked_by(source: PolicySource) -> str:
    """Return who vouches for the embedded engine's decisions on a policy."""
    return BUNDLED_DIGEST if source.digest in PROVED_DIGESTS else UNCHECKED
