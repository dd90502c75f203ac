"""The examples, each in an environment of its own, against a model that is a script.

Two of them are large. They are here all the same: what nobody runs does not work.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from core.support import CONTROL, Bench, of_type
from pytest_soclab.evidence.results import Verdict
from pytest_soclab.fronts.outside import CommandAgent

from .environments import python_with
from .frameworks import FRAMEWORKS
from .scripted_model import DONE, model

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "frameworks"


def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(FRAMEWORKS)


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_an_example_works_on_a_case_unchanged(bench: Bench, name: str) -> None:
    framework = FRAMEWORKS[name]
    with model() as address:
        command = (str(python_with(*framework.packages)), str(EXAMPLES / name))
        outcome = bench.run(bench.unit(CONTROL), CommandAgent(command, name, framework.variables(address)), timeout=180)
    (annex,) = of_type(outcome.events, "annex")
    assert outcome.judgement.verdict is Verdict.SERVED, (outcome.cause, annex["stderr"]["end"][-3000:])
    assert [p["tool"] for p in of_type(outcome.events, "proposal")] == [
        "siem.search", "siem.search", "identity.disable_account", "cases.publish_finding",
    ]  # fmt: skip
    assert annex["note"].endswith(DONE)
