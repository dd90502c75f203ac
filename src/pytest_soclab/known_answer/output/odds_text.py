"""What a gate of this size can see: the odds of its n and m, as text and as JSON."""

from __future__ import annotations

from typing import Any

from pytest_soclab.assurance.odds import at_least_one, reported_dropped
from pytest_soclab.known_answer.comparing.results import GateResult
from pytest_soclab.known_answer.comparing.statistic import Outcome

BY_LUCK = (0.8, 0.9, 0.95, 0.99)
REAL_LOSS = (0.95, 0.5)


def odds_json(result: GateResult) -> dict[str, Any]:
    """Return the odds: for each probability a run, the chance for one item and for at least one of those gated."""
    before, after = REAL_LOSS
    return {
        "items": _gated(result),
        "dropped_by_luck": [{"p": p, **_chances(result, p, p)} for p in BY_LUCK],
        "real_loss": {"from": before, "to": after, **_chances(result, before, after)},
    }


def _gated(result: GateResult) -> int:
    return len(result.items) - len(result.of(Outcome.NOT_GATED))


def _chances(result: GateResult, before: float, after: float) -> dict[str, float]:
    arms = [(arm.score.m, arm.score.n) for arm in (result.baseline, result.candidate)]
    one = reported_dropped(before, after, arms[0], arms[1])
    return {"one_item": one, "any_item": at_least_one(one, _gated(result))}


def odds_text(result: GateResult) -> str:
    """Return the odds as lines, probabilities with four decimals."""
    odds = odds_json(result)
    base, cand = result.baseline.score, result.candidate.score
    lines = [
        "",
        f"odds at baseline m = {base.m} of n = {base.n}, candidate m = {cand.m} of n = {cand.n}"
        f" (each run finds an item or not, independently):",
        f"  an item found with probability p a run is reported dropped by luck: one item; any of {odds['items']}",
    ]
    lines += [
        f"    p = {row['p']:.2f}: {row['one_item']:.4f}; {row['any_item']:.4f}" for row in odds["dropped_by_luck"]
    ]
    loss = odds["real_loss"]
    lines += [
        f"  an item whose probability fell from {loss['from']} to {loss['to']} is reported dropped:",
        f"    one item {loss['one_item']:.4f}; at least one of {odds['items']} that all fell {loss['any_item']:.4f}",
    ]
    return "\n".join(lines) + "\n"
