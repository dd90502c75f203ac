"""The only hand that touches the world; in the protected arm it moves for a valid grant and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from pytest_soclab.gateway.grants import GrantFault, GrantOffice
from pytest_soclab.gateway.redaction import redacted
from pytest_soclab.gateway.state import Proposal, TrialState
from pytest_soclab.soc.registry import Effect, Outcome, Tool, failed


@dataclass(frozen=True, slots=True)
class Refusal:
    """An execution that did not happen: the layer that refused, the reason, a sentence."""

    layer: str
    reason: str
    detail: str


@dataclass(slots=True)
class Executor:
    """Executes granted proposals; `office` is None in the baseline arm, where nothing is checked.

    `rogue` holds tools that nobody declared and that would run all the same (a shadow tool server): only the gateway's
    registry keeps an agent from them.
    """

    state: TrialState
    office: GrantOffice | None
    rogue: dict[str, Tool] = field(default_factory=dict)

    def execute(self, proposal: Proposal, token: str | None, clean: bool = False) -> Outcome | Refusal:
        """Execute a proposal and log the receipt, or log and return the refusal; `clean` reads redacted records."""
        grant: str | None = None
        if self.office is not None:
            spent = self.office.spend(token, proposal, self.state.clock.now)
            if isinstance(spent, GrantFault):
                return self._refuse(proposal, Refusal("grant", spent.reason, spent.detail))
            grant = spent
        if proposal.faults:
            return self._refuse(proposal, Refusal("executor", "argument_shape", proposal.faults[0]))
        outcome = self._run(proposal, clean)
        self._receipt(proposal, grant, outcome)
        return outcome

    def _run(self, proposal: Proposal, clean: bool) -> Outcome:
        tool = self.state.registry.get(proposal.tool) or self.rogue.get(proposal.tool)
        if tool is None:
            return failed(f"no such tool: {proposal.tool}")
        try:
            arguments = tool.arguments.model_validate(self._taken(tool, proposal))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            return failed(f"bad arguments: {'.'.join(str(part) for part in first['loc'])}: {first['msg']}"[:256])
        hides = clean and tool.effect is Effect.READ
        outcome = tool.run(redacted(self.state.world) if hides else self.state.world, arguments)
        self.state.cost += tool.cost
        return outcome

    def _taken(self, tool: Tool, proposal: Proposal) -> Mapping[str, Any]:
        """Return the arguments that the tool takes; without a control plane unknown ones are dropped."""
        if self.office is not None:
            return proposal.arguments
        return {name: value for name, value in proposal.arguments.items() if name in tool.arguments.model_fields}

    def _receipt(self, proposal: Proposal, grant: str | None, outcome: Outcome) -> None:
        changes: list[dict[str, Any]] = [{"kind": c.kind, "target": c.target} for c in outcome.changes]
        self.state.log(
            "receipt",
            {
                "call": proposal.call,
                "tool": proposal.tool,
                "grant": grant,
                "by": proposal.by,
                "ok": outcome.ok,
                "changes": changes,
                "foreign": list(outcome.foreign),
                "error": outcome.error,
            },
        )

    def _refuse(self, proposal: Proposal, refusal: Refusal) -> Refusal:
        data = {"call": proposal.call, "layer": refusal.layer, "reason": refusal.reason, "detail": refusal.detail}
        self.state.log("refused", data)
        return refusal
