"""What we write keeps within the documented limits of its readers; `docs/ci.md` has them in one table."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_soclab.base import checkout
from pytest_soclab.evidence.results import Results, Trial
from pytest_soclab.report import junit, sarif, summary, terminal

from . import build, hostile

TABLE = Path(__file__).parents[2] / "docs" / "ci.md"


def red_trials(number: int) -> list[Trial]:
    return [build.changed(trial, passed=False, cause="ä" * 300) for trial in build.many(number)[:number]]


def run(results: Results) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(sarif.render(results))
    assert len(log["runs"]) == 1
    found: dict[str, Any] = log["runs"][0]
    return found


def of_scenarios(number: int, red: int) -> Results:
    """Return results with one trial for each scenario, the last ones red."""
    first = build.trials_of()[0]
    trials = [
        first.model_copy(update={"id": f"ATK-{n}-plain-protected", "scenario": f"ATK-{n}", "passed": n < number - red})
        for n in range(number)
    ]
    return build.results(trials)


def results_of_a_run() -> None:
    found = run(build.results(red_trials(6000)))
    assert len(found["results"]) == sarif.MOST_RESULTS == 5000


def the_worst_results_stay() -> None:
    trials = [build.changed(trial, passed=False, verdict="inconclusive") for trial in build.many(5400)]
    breach = build.changed(trials[-1], verdict="succeeded")
    found = run(build.results([*trials[:-1], breach]))
    assert found["results"][0]["partialFingerprints"]["soclabTrial/v1"] == breach.id


def rules_of_a_run() -> None:
    many = run(of_scenarios(sarif.MOST_RULES + 1, red=3))
    rules = [rule["id"] for rule in many["tool"]["driver"]["rules"]]
    assert [rules[result["ruleIndex"]] for result in many["results"]] == [r["ruleId"] for r in many["results"]]
    assert len(rules) == 3
    assert len(run(of_scenarios(200, red=3))["tool"]["driver"]["rules"]) == 200


def tags_of_a_rule() -> None:
    trial = build.changed(
        build.trials_of()[0], atlas=tuple(f"AML.T{n:04}" for n in range(9)), owasp=tuple(f"LLM{n:02}" for n in range(9))
    )
    tags = run(build.results([trial]))["tool"]["driver"]["rules"][0]["properties"]["tags"]
    assert len(tags) == sarif.MOST_TAGS == 10
    assert tags[:3] == ["security", "attack", "tier-medium"]


def runs_of_a_file() -> None:
    run(build.results(red_trials(2)))  # which looks for one run


def size_of_a_file() -> None:
    trials = [
        build.changed(trial, title="x" * 100_000, cause=f"{trial.id} " * 9_000) for trial in red_trials(5000)[:400]
    ]
    assert len(gzip.compress(sarif.render(build.results(trials)).encode())) < 1_000_000


def category_of_an_upload() -> None:
    assert "automationDetails" not in run(build.results(red_trials(2)))


def paths_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "repository" / "services" / "soc"
    root.mkdir(parents=True)
    assert checkout.below(root) == ""
    (tmp_path / "repository" / ".git").write_text("gitdir: elsewhere\n")
    assert checkout.below(root) == "services/soc"
    monkeypatch.setenv("CI_PROJECT_DIR", str(root.parent))
    assert checkout.below(root) == "soc"
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    assert checkout.below(root) == "repository/services/soc"
    monkeypatch.setenv("GITHUB_WORKSPACE", str(root.parent / "another"))
    assert checkout.below(root) == "soc"

    results = build.results(red_trials(1))
    below = results.model_copy(update={"timing": results.timing.model_copy(update={"below": "services/soc"})})
    place = run(below)["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": f"services/soc/{results.trials[0].file}", "uriBaseId": "%SRCROOT%"}
    assert f"(`services/soc/{results.trials[0].file}:" in summary.render(below)


def bytes_of_a_summary() -> None:
    results = build.results(red_trials(1500))
    for present in (0, 900_000, 1_040_000, 1_047_000, 1_048_300, 1_048_570, 1_048_576, 2_000_000):
        text = summary.appended(results, None, present, "soclab/summary.md")
        assert present + len(text.encode()) <= summary.FILE_LIMIT or not text
        if summary.FILE_LIMIT - present > 200:
            assert "Cut here" in text or "it is in `soclab/summary.md`" in text or len(text) > 100_000


def characters_of_xml() -> None:
    trial = hostile.record(build.results(red_trials(1)), "a\x00\x1b[2J\u202e\ufffe\ud800b").trials[0]
    assert all(value.isprintable() for _, value in junit.properties(trial))


def names_of_tests() -> None:
    trials = build.many(600)
    assert len({trial.nodeid for trial in trials}) == len({trial.id for trial in trials}) == len(trials)


def lines_of_a_terminal() -> None:
    results = hostile.record(build.results(red_trials(3)), "a\x1b]0;x\x07\u202e\r\nb" * 40)
    for width in (1, 40, 80, 300):
        for verbosity in (-1, 0, 1):
            lines = terminal.render(results, verbosity=verbosity, width=width)
            assert all(line.text.isprintable() and len(line.text) <= max(width, 40) for line in lines)


ROWS: dict[str, tuple[Callable[..., None], ...]] = {
    "25,000 results a run": (results_of_a_run, the_worst_results_stay),
    "25,000 rules a run": (rules_of_a_run,),
    "20 tags a rule": (tags_of_a_rule,),
    "20 runs a file": (runs_of_a_file,),
    "10 MB a file": (size_of_a_file,),
    "an upload replaces": (category_of_an_upload,),
    "paths start at": (paths_of_a_repository,),
    "1,048,576 bytes a step": (bytes_of_a_summary,),
    "XML 1.0 has": (characters_of_xml,),
    "30 MB a file": (names_of_tests,),
    "any width": (lines_of_a_terminal,),
}


@pytest.mark.parametrize("check", [check for row in ROWS.values() for check in row], ids=lambda check: check.__name__)
def test_what_is_written_keeps_within_the_limit(check: Any, request: pytest.FixtureRequest) -> None:
    wanted = check.__annotations__.keys() - {"return"}
    check(**{name: request.getfixturevalue(name) for name in wanted})


def test_every_row_of_the_table_has_its_test() -> None:
    text = TABLE.read_text(encoding="utf-8").partition("## Limits of the readers")[2].partition("\n## ")[0]
    limits = [row[1] for row in re.findall(r"^\| (\S.*?) \| (.*?) \|", text, re.MULTILINE) if row[0] != "reader"]
    elsewhere = {"xunit2 has no properties in a test case"}  # tests/lab/test_junit.py, on pytest's own file
    missing = [limit for limit in limits if limit not in elsewhere and not any(limit.startswith(row) for row in ROWS)]
    assert missing == []
    assert len(limits) == len(ROWS) + len(elsewhere)
