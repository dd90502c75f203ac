"""The saved shapes of what is counted: proportions with their intervals, rates, how much attacks differ."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class Saved(BaseModel):
    """A frozen shape that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Method(StrEnum):
    """How a proportion got its interval."""

    WILSON = "wilson"
    CLOPPER_PEARSON = "clopper_pearson"
    KORN_GRAUBARD = "korn_graubard"


class Measured(Saved):
    """A proportion with its 95 % interval: `k` of `n`, `low` and `high` as fractions."""

    k: int
    n: Annotated[int, Field(gt=0)]
    low: float
    high: float
    method: Method = Method.WILSON


class NoData(Saved):
    """0 of 0: nothing was measured."""

    k: Literal[0] = 0
    n: Literal[0] = 0
    no_data: Literal[True] = True


Proportion = Measured | NoData


class MeasuredRate(Measured):
    """A rate over distinct scenarios, with the same rate over single trials, clustered by scenario, beside it.

    The first format counted distinct (scenario, variant) pairs.
    """

    trials: Proportion
    open: int = 0
    """How many of the `k` are counted only because a trial of them is inconclusive: the worst that they may hide."""


class NoDataRate(NoData):
    """A rate over no scenario, with the same rate over single trials beside it."""

    trials: Proportion


Rate = MeasuredRate | NoDataRate


class RateGroup(Saved):
    """The three rates of one group of scenarios."""

    attack_success: Rate
    false_block: Rate
    delivery: Rate


class Rates(RateGroup):
    """The three rates, over all and by group."""

    by_tier: dict[str, RateGroup]
    by_family: dict[str, RateGroup]
    by_incident: dict[str, RateGroup]
    by_surface: dict[str, RateGroup]


class Distinct(Saved):
    """How much the attacks of one arm differ, counted from transcripts."""

    scenarios: int
    """Scenarios that differ in what the policy was asked or in what the agent was handed."""
    trials: int
    inputs: int
    """Distinct sequences of policy inputs."""
    stops: int
    """Distinct ways in which an attack was stopped."""
