"""Signed single-use grants: the only thing that opens the executor.

A grant is a JWT (HS256) over the trial, the proposal's canonical hash and an expiry in simulated time. Its key is made
for one session and never written down; what the transcript names is the grant's id.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import jwt

from pytest_soclab.evidence.ledger import digest
from pytest_soclab.gateway.state import Proposal

LIFETIME = 300  # simulated seconds
_ALGORITHM = "HS256"
_SIGNED = jwt.PyJWS()  # a grant has claims of its own, not the registered ones that `jwt.decode` would look for


def proposal_hash(proposal: Proposal) -> str:
    """Return the SHA-256 of the canonical form of what would be executed."""
    return digest({"tool": proposal.tool, "arguments": proposal.arguments})


@dataclass(frozen=True, slots=True)
class Grant:
    """An issued grant: its id, the token that the executor checks, what it is bound to, when it ends."""

    id: str
    token: str
    proposal_hash: str
    expires: int


@dataclass(frozen=True, slots=True)
class GrantFault:
    """Why a grant does not open the executor; `reason` is `grant_missing`, `grant_signature`, `grant_trial`, …"""

    reason: str
    detail: str


@dataclass(slots=True)
class GrantOffice:
    """Issues and checks the grants of one trial."""

    key: bytes
    trial: str
    issued: int = 0
    spent: set[str] = field(default_factory=set)

    def issue(self, proposal: Proposal, now: int) -> Grant:
        """Issue a grant for exactly this proposal, at simulated time `now`."""
        self.issued += 1
        identifier = f"{self.trial}/grant-{self.issued:03d}"
        bound, expires = proposal_hash(proposal), now + LIFETIME
        claims = json.dumps({"jti": identifier, "trial": self.trial, "bound": bound, "until": expires})
        return Grant(identifier, _SIGNED.encode(claims.encode(), self.key, _ALGORITHM), bound, expires)

    def spend(self, token: str | None, proposal: Proposal, now: int) -> GrantFault | str:
        """Spend a grant on a proposal: return its id, or the fault that stops the execution."""
        if not token:
            return GrantFault("grant_missing", "no grant was presented")
        try:
            claims = json.loads(_SIGNED.decode(token, self.key, [_ALGORITHM]))
        except (jwt.InvalidTokenError, ValueError) as error:
            return GrantFault("grant_signature", f"the grant is not ours: {error}")
        if not isinstance(claims, dict) or not isinstance(claims.get("jti"), str):
            return GrantFault("grant_signature", "the grant is not ours: it has no id")
        fault = self._fault(claims, proposal, now)
        if fault:
            return fault
        self.spent.add(claims["jti"])
        identifier: str = claims["jti"]
        return identifier

    def _fault(self, claims: dict[str, Any], proposal: Proposal, now: int) -> GrantFault | None:
        if claims.get("trial") != self.trial:
            return GrantFault("grant_trial", f"the grant belongs to trial {claims.get('trial')}")
        if claims["jti"] in self.spent:
            return GrantFault("grant_replayed", f"{claims['jti']} was spent before")
        if claims.get("bound") != proposal_hash(proposal):
            return GrantFault("grant_mismatch", "the call is not the one that was granted")
        until = claims.get("until")
        if not isinstance(until, int) or isinstance(until, bool):
            return GrantFault("grant_expired", "the grant does not say when it ends")
        if now > until:
            return GrantFault("grant_expired", f"the grant ended {now - until} s ago")
        return None
