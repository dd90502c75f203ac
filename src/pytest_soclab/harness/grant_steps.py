"""Attacks on grants: forged, replayed, swapped, expired, of another trial, spent on another call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field

from pytest_soclab.gateway.gateway import log_proposal
from pytest_soclab.gateway.grants import LIFETIME, GrantOffice, proposal_hash
from pytest_soclab.gateway.normal import proposal_of, request_of
from pytest_soclab.gateway.state import Proposal
from pytest_soclab.harness.bench import Bench, CallStep, Step, present


class ForgeGrant(CallStep):
    """Signs a grant with the attacker's own key, or with none, and presents it for a call that nobody decided on."""

    step: Literal["forge_grant"]
    algorithm: Literal["HS256", "none"] = "HS256"

    def perform(self, bench: Bench) -> None:
        """Present the forged grant."""
        proposal = self.propose(bench)
        present(self, bench, proposal, self._forged(bench, proposal))

    def _forged(self, bench: Bench, proposal: Proposal) -> str:
        """Return a grant in which everything but the signature is right."""
        import jwt

        key = "" if self.algorithm == "none" else b"a key that the attacker made up...."
        until = bench.state.clock.now + LIFETIME
        claims = {"jti": "forged", "trial": bench.state.trial, "bound": proposal_hash(proposal), "until": until}
        return jwt.encode(claims, key, self.algorithm)


class ReplayGrant(Step):
    """Presents the grant of the agent's last executed call a second time, for the same call."""

    step: Literal["replay_grant"]

    def prepare(self, bench: Bench) -> None:
        """See the grants that are issued."""
        _watch(bench, lambda proposal: proposal)

    def perform(self, bench: Bench) -> None:
        """Present the last grant again."""
        first, token = bench.granted[-1] if bench.granted else (_last_proposal(bench), "")
        if first is None:
            return
        again = proposal_of(bench.state, request_of(first.tool, first.arguments, first.cites), by="harness")
        log_proposal(bench.state, again)
        present(self, bench, again, token)


class SwapAfterGrant(CallStep):
    """Puts this call in the place of the agent's granted call `on` before it is executed."""

    step: Literal["swap_after_grant"]
    on: str

    def prepare(self, bench: Bench) -> None:
        """Wait for the grant."""
        _watch(bench, lambda proposal: self._swapped(bench, proposal))

    def perform(self, bench: Bench) -> None:
        """Follow the call where nothing is granted: the baseline arm."""
        if bench.gateway is None and _proposed(bench, self.on):
            present(self, bench, self.propose(bench), "")

    def _swapped(self, bench: Bench, proposal: Proposal) -> Proposal:
        if proposal.tool != self.on:
            return proposal
        swapped = self.propose(bench)
        bench.log(self.step, f"{swapped.tool} in place of {self.on}")
        return swapped


class ExpireGrant(Step):
    """Holds back the agent's granted call `on` until its grant has expired."""

    step: Literal["expire_grant"]
    on: str
    seconds: int = Field(default=LIFETIME + 1, strict=True)

    def prepare(self, bench: Bench) -> None:
        """Wait for the grant."""
        _watch(bench, lambda proposal: self._late(bench, proposal))

    def perform(self, bench: Bench) -> None:
        """Say that nothing can expire where nothing is granted: the baseline arm."""
        if bench.gateway is None and _proposed(bench, self.on):
            bench.log(self.step, f"{self.on} has no grant that could expire")

    def _late(self, bench: Bench, proposal: Proposal) -> Proposal:
        if proposal.tool == self.on:
            bench.state.clock.advance(self.seconds)
            bench.log(self.step, f"{self.on} held back for {self.seconds} s")
        return proposal


class CrossTrialGrant(CallStep):
    """Presents a grant that the same session issued for exactly this call, in another trial."""

    step: Literal["cross_trial_grant"]

    def perform(self, bench: Bench) -> None:
        """Present the other trial's grant."""
        proposal = self.propose(bench)
        office = GrantOffice(bench.key, "another-trial")
        present(self, bench, proposal, office.issue(proposal, bench.state.clock.now).token)


class SpendApproval(CallStep):
    """Presents the valid grant of an approved call `approved` for this other call."""

    step: Literal["spend_approval"]
    approved: str
    approved_args: dict[str, Any] = Field(default_factory=dict)

    def perform(self, bench: Bench) -> None:
        """Present the approved call's grant for this one."""
        approved = Proposal(0, self.approved, self.approved_args, ())
        office = bench.executor.office or GrantOffice(bench.key, bench.state.trial)
        token = office.issue(approved, bench.state.clock.now).token
        present(self, bench, self.propose(bench), token)


def _watch(bench: Bench, between: Callable[[Proposal], Proposal]) -> None:
    """See every granted proposal and act between grant and execution; of several steps the first acts first."""
    if bench.gateway is None:
        return
    gateway, earlier = bench.gateway, bench.gateway.between

    def seen(proposal: Proposal, token: str) -> Proposal:
        if earlier is not None:
            return between(earlier(proposal, token))
        bench.granted.append((proposal, token))
        return between(proposal)

    gateway.between = seen


def _last_proposal(bench: Bench) -> Proposal | None:
    data = next((e["data"] for e in reversed(bench.state.ledger.events) if e["type"] == "proposal"), None)
    return Proposal(data["call"], data["tool"], data["arguments"], tuple(data["cites"])) if data else None


def _proposed(bench: Bench, tool: str) -> bool:
    return any(e["type"] == "proposal" and e["data"]["tool"] == tool for e in bench.state.ledger.events)
