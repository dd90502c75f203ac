"""Attacks on who decides: an engine gone, slow or malformed, a worn-out approver, another model, a rogue tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import Field

from pytest_soclab.base.errors import PolicyUnavailable
from pytest_soclab.gateway.approvals import Fatigued
from pytest_soclab.harness.bench import Bench, Step
from pytest_soclab.policy.answer import parse_answer
from pytest_soclab.policy.model import Decision, Engine, PolicySource


class SubstituteModel(Step):
    """Lets another model work under the agent's name."""

    step: Literal["substitute_model"]
    model: str

    def prepare(self, bench: Bench) -> None:
        """Put the other model in place."""
        bench.state.identity = replace(bench.state.identity, model=self.model)
        bench.log(self.step, f"the model is {self.model}", model=self.model)


class RogueTool(Step):
    """Offers an undeclared tool `name` that does what the declared tool `like` does (a shadow tool server)."""

    step: Literal["rogue_tool"]
    name: str
    like: str

    def prepare(self, bench: Bench) -> None:
        """Offer the tool."""
        genuine = bench.state.registry.get(self.like)
        if genuine is not None:
            bench.executor.rogue[self.name] = replace(genuine, name=self.name)
            bench.log(self.step, f"{self.name} does what {self.like} does")


class PolicyOutage(Step):
    """Takes the policy engine away after `after` decisions."""

    step: Literal["policy_outage"]
    after: int = Field(default=0, ge=0, strict=True)

    def prepare(self, bench: Bench) -> None:
        """Put an engine in place that goes away."""
        _break_engine(bench, self.after, _gone, lambda: bench.log(self.step, f"no engine after {self.after} decisions"))


class SlowPolicy(Step):
    """Lets every decision after `after` take `seconds`."""

    step: Literal["slow_policy"]
    seconds: float = Field(default=10.0, gt=0)
    after: int = Field(default=0, ge=0, strict=True)

    def prepare(self, bench: Bench) -> None:
        """Put a slow engine in place."""

        def begin() -> None:
            bench.log(self.step, f"decisions take {self.seconds:g} s")

        if bench.gateway is None:
            begin()
            return
        passed = [0.0]
        inner = bench.gateway.engine

        def late(document: Mapping[str, Any]) -> Decision:
            passed[0] += self.seconds
            return inner.decide(document)

        bench.gateway.engine = _Wrapped(inner, self.after, late, begin)
        bench.gateway.timer = lambda: passed[0]


class MalformedDecision(Step):
    """Lets the engine answer this document after `after` decisions: no decision, or one with an unknown obligation."""

    step: Literal["malformed_decision"]
    answer: Any
    after: int = Field(default=0, ge=0, strict=True)

    def prepare(self, bench: Bench) -> None:
        """Put an engine in place whose answers cannot be read."""
        detail = "the engine answers a malformed decision"
        _break_engine(
            bench, self.after, lambda _document: parse_answer(self.answer), lambda: bench.log(self.step, detail)
        )


class ApproverFatigue(Step):
    """Wears the approver out: after `patience` requests everything is approved."""

    step: Literal["approver_fatigue"]
    patience: int = Field(default=3, ge=0, strict=True)

    def prepare(self, bench: Bench) -> None:
        """Put the worn-out approver in place."""
        if bench.gateway is not None:
            bench.gateway.approver = Fatigued(bench.gateway.approver, self.patience)
        bench.log(self.step, f"the approver looks at {self.patience} requests")


@dataclass(slots=True)
class _Wrapped:
    """An engine that misbehaves after some decisions."""

    inner: Engine
    after: int
    misbehave: Callable[[Mapping[str, Any]], Decision]
    begin: Callable[[], None]
    """Called when it misbehaves for the first time: only then has the attack been performed."""
    asked: int = 0

    @property
    def kind(self) -> Literal["embedded", "server"]:
        return self.inner.kind

    @property
    def source(self) -> PolicySource:
        return self.inner.source

    @property
    def address(self) -> str | None:
        return self.inner.address

    @property
    def checked_by(self) -> str:
        return self.inner.checked_by

    def decide(self, document: Mapping[str, Any]) -> Decision:
        self.asked += 1
        if self.asked <= self.after:
            return self.inner.decide(document)
        if self.asked == self.after + 1:
            self.begin()
        return self.misbehave(document)

    def close(self) -> None:
        self.inner.close()


def _gone(_document: Mapping[str, Any]) -> Decision:
    raise PolicyUnavailable("the policy engine is gone")


def _break_engine(
    bench: Bench, after: int, misbehave: Callable[[Mapping[str, Any]], Decision], begin: Callable[[], None]
) -> None:
    if bench.gateway is not None:
        bench.gateway.engine = _Wrapped(bench.gateway.engine, after, misbehave, begin)
    else:
        begin()
