"""The bench: the parts of a trial that a harness step works on, and the base of the steps.

A step is a model with a discriminating `step` name. It is performed with real tokens, a real ledger and the real
executor; in the baseline arm the same step meets no control.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from pytest_soclab.gateway.executor import Executor
from pytest_soclab.gateway.gateway import Gateway, log_proposal
from pytest_soclab.gateway.normal import proposal_of, request_of
from pytest_soclab.gateway.state import Proposal, TrialState


@dataclass(slots=True)
class Bench:
    """What the harness works on: the trial's parts and the grants it saw; `gateway` is None in the baseline arm."""

    state: TrialState
    executor: Executor
    key: bytes
    gateway: Gateway | None
    granted: list[tuple[Proposal, str]] = field(default_factory=list)
    performed: list[str] = field(default_factory=list)

    def log(self, step: str, detail: str, *, noticed: bool = False, tampering: bool = False, **more: str) -> None:
        """Log a performed step."""
        self.performed.append(step)
        data = {"step": step, "performed": True, "noticed": noticed, "tampering": tampering, "detail": detail, **more}
        self.state.log("harness", data)


class Step(BaseModel):
    """The base of the harness steps: frozen, unknown keys refused. A step overrides `prepare` or `perform`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def prepare(self, bench: Bench) -> None:
        """Prepare the step before the agent works."""

    def perform(self, bench: Bench) -> None:
        """Perform the step after the agent has worked."""


class CallStep(Step):
    """The base of the steps that present a call of their own."""

    call: str
    args: dict[str, Any] = Field(default_factory=dict)
    cites: tuple[str, ...] = ()

    def propose(self, bench: Bench) -> Proposal:
        """Log this step's call as the harness's own proposal."""
        proposal = proposal_of(bench.state, request_of(self.call, self.args, self.cites), by="harness")
        log_proposal(bench.state, proposal)
        return proposal


def step_name(step: Step) -> str:
    """Return the step's discriminating name."""
    return str(getattr(step, "step", type(step).__name__))


def present(step: Step, bench: Bench, proposal: Proposal, token: str) -> None:
    """Present a call with this token to the executor, past the gateway."""
    bench.executor.execute(proposal, token)
    bench.log(step_name(step), f"{proposal.tool} presented")
