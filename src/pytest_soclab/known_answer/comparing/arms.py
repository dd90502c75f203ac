"""An arm: several scored runs of one setup, their verdicts at m of n and the tags of their evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_soclab.known_answer.basis.run import ScoredRun
from pytest_soclab.known_answer.basis.verdicts import CREDITED, RANK
from pytest_soclab.known_answer.comparing.statistic import ArmScore, choose_m, score_arm
from pytest_soclab.known_answer.provenance.tags import arm_tag


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm: its runs, its verdicts at m of n, and the provenance tag of its credited items."""

    runs: tuple[ScoredRun, ...]
    score: ArmScore
    tags: Mapping[str, str]


def build_arm(runs: tuple[ScoredRun, ...], m: int | None, name: str) -> Arm:
    """Return the arm of some runs. Raises KnownAnswerError where m does not fit their number."""
    m = choose_m(m, len(runs), name)
    score = score_arm([run.verdicts for run in runs], [run.beyond for run in runs], m)
    return Arm(runs, score, _tags(runs, score))


def _tags(runs: tuple[ScoredRun, ...], score: ArmScore) -> dict[str, str]:
    """Return the tag of every credited item that a run with stored artefacts reaches."""
    if not any(run.provenance for run in runs):
        return {}
    tags: dict[str, str] = {}
    for item, standing in score.standings.items():
        if standing.verdict not in CREDITED:
            continue
        found = [tag for run in runs if (tag := _tag(run, item, RANK[standing.verdict]))]
        if found:
            tags[item] = arm_tag(found, score.m)
    return tags


def _tag(run: ScoredRun, item: str, rank: int) -> str | None:
    verdict = run.verdicts.get(item)
    if run.provenance is None or verdict is None or RANK[verdict] < rank:
        return None
    return run.provenance.tags.get(item)


def reaching(arm: Arm, count: int | None) -> str:
    """Return how many of an arm's runs reach a beyond-human count, or state one where the arm has none."""
    stated = [run.beyond for run in arm.runs if run.beyond is not None]
    reached = len(stated) if count is None else sum(other >= count for other in stated)
    return f"{reached} of {arm.score.n}"
