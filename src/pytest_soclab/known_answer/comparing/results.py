"""Results of a score and of a gate as values, and their stable JSON forms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pytest_soclab.base.errors import printable
from pytest_soclab.known_answer.basis.run import Provenance, ScoredRun
from pytest_soclab.known_answer.basis.verdicts import credited, totals, word
from pytest_soclab.known_answer.comparing.arms import Arm, reaching
from pytest_soclab.known_answer.comparing.statistic import BeyondOutcome, ItemOutcome, Outcome, Standing
from pytest_soclab.known_answer.provenance.tags import BY_ANALYSIS, LOOKUP, counts


@dataclass(frozen=True, slots=True)
class ScoreResult:
    """Scored runs, and the arm that several of them make."""

    runs: tuple[ScoredRun, ...]
    arm: Arm | None

    def to_json(self) -> dict[str, Any]:
        """Return the result in its stable form, `known-answer-score/1`."""
        return score_json(self)


@dataclass(frozen=True)
class GateResult:
    """A finished gate: both arms, the outcome of every item, and that of the beyond-human count."""

    baseline: Arm
    candidate: Arm
    items: tuple[ItemOutcome, ...]
    beyond: BeyondOutcome

    @property
    def dropped(self) -> bool:
        """Whether anything dropped, the beyond-human count included."""
        return self.beyond.dropped or bool(self.of(Outcome.DROPPED))

    @cached_property
    def tag_changed(self) -> dict[str, tuple[str, str]]:
        """Both tags of every item that both arms credit and whose tag changed."""
        before, after = self.baseline.tags, self.candidate.tags
        return {item: (tag, after[item]) for item, tag in before.items() if after.get(item, tag) != tag}

    def of(self, outcome: Outcome) -> list[ItemOutcome]:
        """Return the items with this outcome, in the order of the baseline's files."""
        return [item for item in self.items if item.outcome is outcome]

    def places(self, item: str) -> tuple[list[str], list[str]]:
        """Return where an item stands in the runs of the baseline and of the candidate, such as `score.md:12`."""
        before, after = ([run.places[item] for run in arm.runs if item in run.places] for arm in self.arms)
        return before, after

    @property
    def arms(self) -> tuple[Arm, Arm]:
        """Baseline and candidate."""
        return self.baseline, self.candidate

    @property
    def scored(self) -> list[ItemOutcome]:
        """The items that at least one baseline run scored: what a test session collects."""
        return [item for item in self.items if item.scored]

    def sentence(self, item: ItemOutcome) -> str:
        """Return one printable sentence on an item, as `item_sentence` does."""
        return item_sentence(item)

    @property
    def beyond_sentence(self) -> str:
        """One printable sentence on the beyond-human count."""
        return beyond_sentence(self)

    def to_json(self) -> dict[str, Any]:
        """Return the result in its stable form, `known-answer-gate/1`."""
        return gate_json(self)


def item_sentence(item: ItemOutcome) -> str:
    """Return one printable sentence on an item: `K3.2  found 2 of 3 → partly (body) 3 of 3`."""
    name = printable(item.item)
    if item.outcome is Outcome.NOT_GATED:
        return f"{name}  not gated: {item.scored} of {item.baseline.of} baseline runs scored it"
    return f"{name}  {item.baseline} → {item.candidate}"


def beyond_sentence(result: GateResult) -> str:
    """Return one printable sentence on the beyond-human count of both arms."""
    beyond, before = result.beyond, result.baseline.score
    if not beyond.gated:
        return f"beyond-human  not gated: fewer than {before.m} of {before.n} baseline runs state a count"
    found = "no count" if beyond.candidate is None else str(beyond.candidate)
    return (
        f"beyond-human  {beyond.baseline} ({reaching(result.baseline, beyond.baseline)}) → "
        f"{found} ({reaching(result.candidate, beyond.candidate)})"
    )


def score_json(result: ScoreResult) -> dict[str, Any]:
    """Return a score as `known-answer-score/1`."""
    return {
        "format": "known-answer-score/1",
        "runs": [run_json(run) for run in result.runs],
        "arm": arm_json(result.arm) if result.arm else None,
    }


def run_json(run: ScoredRun) -> dict[str, Any]:
    """Return one run: totals, verdicts by item key, and where artefacts were read, tags and entries."""
    counted = totals(run.verdicts.values())
    provenance = run.provenance
    return {
        "name": run.name,
        "source": run.source,
        "items": len(run.verdicts),
        "totals": counted,
        "credited": credited(counted),
        "totals_checked": run.totals_checked,
        "beyond": run.beyond,
        "verdicts": {item: word(verdict) for item, verdict in run.verdicts.items()},
        "provenance": _provenance(provenance) if provenance else None,
        "tags": dict(provenance.tags) if provenance else {},
        "entries": _entries(provenance) if provenance else {},
    }


def _provenance(provenance: Provenance) -> dict[str, Any]:
    found = counts(provenance.tags.values())
    return {
        "read": list(provenance.read),
        "counts": found,
        "found_by_analysis": sum(found[tag] for tag in sorted(BY_ANALYSIS)),
        "found_only_by_lookup": found[LOOKUP],
    }


def _entries(provenance: Provenance) -> dict[str, Any]:
    return {
        item: [{"id": entry.id, "class": entry.kind} for entry in entries]
        for item, entries in provenance.entries.items()
    }


def arm_json(arm: Arm) -> dict[str, Any]:
    """Return one arm: its runs' names, m and n, and every item's verdict with the runs that reach it."""
    score = arm.score
    counted = totals(standing.verdict for standing in score.standings.values())
    return {
        "runs": [run.name for run in arm.runs],
        "m": score.m,
        "n": score.n,
        "totals": counted,
        "credited": credited(counted),
        "beyond": score.beyond,
        "verdicts": {item: _standing(standing) for item, standing in score.standings.items()},
        "tags": dict(arm.tags),
    }


def _standing(standing: Standing) -> dict[str, Any]:
    verdict = standing.verdict.value if standing.verdict else None
    return {"verdict": verdict, "reached": standing.reached, "of": standing.of}


def gate_json(result: GateResult) -> dict[str, Any]:
    """Return a gate as `known-answer-gate/1`."""
    beyond = result.beyond
    return {
        "format": "known-answer-gate/1",
        "decision": "dropped" if result.dropped else "held",
        "baseline": arm_json(result.baseline),
        "candidate": arm_json(result.candidate),
        "dropped": [
            entry | {"places": _places(result, entry["item"])} for entry in _compared(result.of(Outcome.DROPPED))
        ],
        "improved": _compared(result.of(Outcome.IMPROVED)),
        "held": [item.item for item in result.of(Outcome.HELD)],
        "not_gated": [
            {"item": item.item, "scored": item.scored, "of": item.baseline.of} for item in result.of(Outcome.NOT_GATED)
        ],
        "beyond": {
            "gated": beyond.gated,
            "baseline": beyond.baseline,
            "candidate": beyond.candidate,
            "dropped": beyond.dropped,
        },
        "tag_changed": [
            {"item": item, "baseline": before, "candidate": after}
            for item, (before, after) in result.tag_changed.items()
        ],
    }


def _places(result: GateResult, item: str) -> dict[str, list[str]]:
    return dict(zip(("baseline", "candidate"), result.places(item), strict=True))


def _compared(items: Iterable[ItemOutcome]) -> list[dict[str, Any]]:
    return [
        {"item": item.item, "baseline": _standing(item.baseline), "candidate": _standing(item.candidate)}
        for item in items
    ]
