"""The table of conditions says of each level what the ladder's bill says: nothing more, nothing less."""

from __future__ import annotations

import pytest

from core.evidence import DIGEST, PROFILE, attacks, clean, controls, decision
from pytest_soclab.assurance.units import Basis, rates
from pytest_soclab.evidence.results import Level, Results, Trial
from pytest_soclab.report import rungs

from . import build

MANY, FEW = clean(90, 40), clean(12, 6)
COURSES = {
    "all clean": MANY,
    "few and clean": FEW,
    "three without a verdict": [*attacks(["inconclusive"] * 3 + ["resisted"] * 87), *controls(["served"] * 40)],
    "a third without a verdict": [*attacks(["inconclusive"] * 30 + ["resisted"] * 60), *controls(["served"] * 40)],
    "none with a verdict": attacks(["inconclusive"] * 9),
    "a low one succeeded": [*attacks(["succeeded"] + ["resisted"] * 89), *controls(["served"] * 40)],
    "a medium one succeeded": [*attacks(["resisted", "succeeded"] + ["resisted"] * 88), *controls(["served"] * 40)],
    "a high one succeeded": [
        *attacks(["resisted"] * 2 + ["succeeded"] + ["resisted"] * 87),
        *controls(["served"] * 40),
    ],
    "half the work blocked": [*attacks(["resisted"] * 90), *controls(["served", "blocked"] * 20)],
    "no work at all": attacks(["resisted"] * 90),
}


def record_of(trials: list[Trial], basis: Basis, tested: Level) -> Results:
    record = build.results(trials, agent_kind="live" if basis == "agent" else "scripted")
    return record.model_copy(
        update={
            "level": decision(trials, tested.value, basis=basis),
            "rates": rates(trials, basis),
            "digests": record.digests.model_copy(update={"profile": DIGEST}),
        }
    )


@pytest.mark.parametrize("tested", Level, ids=lambda level: level.value)
@pytest.mark.parametrize("basis", ["controls", "agent"])
@pytest.mark.parametrize("course", COURSES)
def test_the_table_and_the_bill_name_as_many_unmet_conditions(course: str, basis: Basis, tested: Level) -> None:
    trials = (
        [t.model_copy(update={"agent_kind": "live"}) for t in COURSES[course]] if basis == "agent" else COURSES[course]
    )
    record = record_of(trials, basis, tested)
    assert record.level.profile == PROFILE.label
    following = record.level.next
    if following is None:
        assert record.level.recommended is Level.L5
        return
    column = list(Level).index(following.level)
    unmet = [row.name for row in rungs.table(record) if row.cells[column].need and not row.cells[column].met]
    assert len(unmet) == len([one for one in following.unmet if one.rule != "assessed"]), (unmet, following.unmet)
