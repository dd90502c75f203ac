"""Scenario files as pytest items, from outside."""

from __future__ import annotations

import functools
import xml.etree.ElementTree as ET

import pytest

from pytest_soclab.session import items
from pytest_soclab.session.items import running

from .conftest import ATTACK, CONTROL, Corpus

NAMES = ["ATK-001[plain-protected]", "ATK-001[german-protected]", "BEN-001[plain-protected]"]


def collected(result: pytest.RunResult) -> list[str]:
    return [line.split("::")[1] for line in result.outlines if "::" in line and line.startswith("scenarios")]


def test_one_item_for_each_variant_and_arm(corpus: Corpus) -> None:
    assert collected(corpus.run("--collect-only", "-q")) == NAMES
    both = collected(corpus.run("--collect-only", "-q", "--soclab-mode=compare"))
    assert both[:4] == [f"ATK-001[{v}-{a}]" for v in ("plain", "german") for a in ("baseline", "protected")]
    again = collected(corpus.run("--collect-only", "-q", "--soclab-repeat=2", "-k", "BEN"))
    assert again == ["BEN-001[plain-protected]", "BEN-001[plain-protected-2]"]


def test_collecting_writes_nothing(corpus: Corpus) -> None:
    corpus.run("--collect-only", "-q")
    assert not corpus.artifacts.exists()


@pytest.mark.parametrize(
    ("option", "chosen"),
    [
        (["-k", "ATK-001"], NAMES[:2]),
        (["-k", "german"], NAMES[1:2]),
        (["-m", "attack and tier_medium"], NAMES[:2]),
        (["-m", "benign"], NAMES[2:]),
        (["-m", "tier_low and family_operational_discipline and incident_identity_compromise"], NAMES[2:]),
        (["-m", "tier_high"], []),
    ],
)
def test_marks_and_names_select(corpus: Corpus, option: list[str], chosen: list[str]) -> None:
    assert collected(corpus.run("--collect-only", "-q", "--strict-markers", *option)) == chosen


def test_a_node_id_selects_one_item(corpus: Corpus) -> None:
    result = corpus.run("scenarios/attacks/ATK-001-note.yaml::ATK-001[german-protected]")
    result.assert_outcomes(passed=1)


def test_other_yaml_files_are_never_touched(corpus: Corpus) -> None:
    for name in ("values.yaml", "ATK.yaml", "atk-001.yaml", "ATK-001.yml", "BENCH.yaml"):
        (corpus.root / name).write_text("a: [broken")
    result = corpus.run()
    result.assert_outcomes(passed=3)


def test_the_files_options_of_pytest_work(corpus: Corpus) -> None:
    result = corpus.run("--setup-show", "--durations=3", "--junitxml=out.xml", "-k", "german")
    result.assert_outcomes(passed=1, deselected=2)
    result.stdout.fnmatch_lines(["*SETUP    F soclab_world*", "*SETUP    F soclab_gateway*", "*slowest 3 durations*"])
    [case] = ET.parse(corpus.pytester.path / "out.xml").iter("testcase")  # its properties: test_junit.py
    assert case.get("name") == "ATK-001[german-protected]"


def test_last_failed_and_stop_at_first(corpus: Corpus) -> None:
    corpus.attack.write_text(ATTACK.replace("stopped_by: protected_asset", "stopped_by: unknown_reason"))
    run = functools.partial(corpus.pytester.runpytest_inprocess, "--soclab-no-reach")
    run().assert_outcomes(failed=2, passed=1)
    run("--lf").assert_outcomes(failed=2)
    run("-x").assert_outcomes(failed=1)
    stopped = corpus.results()
    assert [t["cause"] for t in stopped["trials"] if t["id"].startswith("BEN")] == [
        "not run: the session ended before it (stopping after 1 failures)"
    ]
    assert stopped["level"]["recommended"] is None


def test_a_failing_item_reads_verdict_stopper_events_place(corpus: Corpus) -> None:
    policy = corpus.policy(without="protected_asset insufficient_evidence")
    corpus.attack.write_text(ATTACK.replace("stopped_by:", "approver: rubber_stamp\nstopped_by:"))
    result = corpus.run(f"--soclab-policies={policy}", "-k", "plain and ATK")
    result.assert_outcomes(failed=1, deselected=2)
    result.stdout.fnmatch_lines(
        [
            "*ATK-001?plain-protected?*",
            "succeeded: nothing stopped it: account_disabled and harm_to_innocents",
            "stopped by nobody",
            "  event *: call * identity.disable_account *user=svc-backup*: *account_disabled svc-backup",
            "scenarios/attacks/ATK-001-note.yaml:1 Instruction hidden in a helpdesk note",
        ],
        consecutive=False,
    )
    text = result.stdout.str()
    assert "Traceback" not in text
    assert "pytest_soclab/" not in text


def test_an_id_twice_is_refused_and_other_files_run(corpus: Corpus) -> None:
    corpus.write("ATK-001-again.yaml", ATTACK)
    other = CONTROL.replace("BEN-001", "BEN-002").replace('"user:alex.rivera"', '"user:alex.rivera source:vpn"')
    corpus.write("BEN-002-other.yaml", other)
    result = corpus.run()
    result.assert_outcomes(passed=4, errors=1)
    result.stdout.fnmatch_lines(["*ATK-001*.yaml:1:1 id: the id 'ATK-001' is also in *expected one file an id*"])
    assert corpus.results()["level"]["recommended"] is None


def test_every_fault_of_a_file_at_once(corpus: Corpus) -> None:
    bad = (
        ATTACK.replace("tier: medium", "teir: medium")
        .replace("version: 1", "version: one")
        .replace("001\n", "002\n", 1)
    )
    corpus.write("ATK-009-bad.yaml", bad)
    result = corpus.run()
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*ATK-009-bad.yaml:2:* version: *",
            "*ATK-009-bad.yaml:5:* teir: found the unknown key 'teir'; did you mean 'tier'*",
        ],
        consecutive=False,
    )
    assert "Traceback" not in result.stdout.str()
    (told,) = corpus.results()["counts"]["error_texts"]
    assert told.startswith("scenarios/attacks/ATK-009-bad.yaml: 3 faults, first: 1:1 id: found ")


def test_random_order_gives_the_same_results(corpus: Corpus) -> None:
    corpus.run()
    first = corpus.results()
    corpus.pytester.makeconftest("def pytest_collection_modifyitems(items): items.reverse()")
    corpus.run()
    second = corpus.results()
    del first["timing"], second["timing"]
    assert first == second


def test_two_workers_give_the_same_bytes(corpus: Corpus) -> None:
    corpus.run(process=True)
    alone = corpus.results()
    transcripts = {p.name: p.read_bytes() for p in (corpus.artifacts / "transcripts").iterdir()}
    corpus.run("-n", "2", process=True)
    together = corpus.results()
    assert {p.name: p.read_bytes() for p in (corpus.artifacts / "transcripts").iterdir()} == transcripts
    assert set(alone.pop("timing")) == set(together.pop("timing"))
    assert alone == together


def test_a_shard_runs_its_part_and_issues_no_level(corpus: Corpus) -> None:
    seen: list[str] = []
    for part in ("1/2", "2/2"):
        corpus.run(f"--soclab-shard={part}")
        if corpus.artifacts.exists():
            results = corpus.results()
            seen += [trial["id"] for trial in results["trials"]]
            assert results["level"]["recommended"] is None
    assert sorted(seen) == sorted(f"{name.replace('[', '-').rstrip(']')}" for name in NAMES)


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_a_broken_scenario_beside_others_fails_the_session_and_stops_nothing(
    corpus: Corpus, workers: list[str]
) -> None:
    corpus.write("ATK-009-bad.yaml", "id: ATK-009\nversion: [\n")
    result = corpus.run(*workers, process=True)
    assert result.ret == 1
    outcomes = result.parseoutcomes()
    assert (outcomes["passed"], outcomes["errors" if "errors" in outcomes else "error"]) == (3, 1)
    results = corpus.results()
    assert results["level"]["recommended"] is None
    assert results["counts"]["errors"] == 1


def test_a_broken_python_test_still_stops_the_session(corpus: Corpus) -> None:
    corpus.write("ATK-009-bad.yaml", "id: ATK-009\nversion: [\n")
    corpus.pytester.makepyfile("import nothing_of_this_name")
    assert corpus.run(process=True).ret == pytest.ExitCode.INTERRUPTED


OTHER = """
def test_other(soclab_world):
    pass
"""


def test_the_fixtures_belong_to_scenario_items(corpus: Corpus) -> None:
    corpus.pytester.makepyfile(test_zz_other=OTHER)
    result = corpus.run("scenarios", "test_zz_other.py")
    result.assert_outcomes(passed=3, errors=1)
    said = "soclab_world belongs to scenario items, not to test_zz_other.py::test_other"
    assert said in result.stdout.str()
    assert running() is None


def test_the_innermost_item_is_the_one_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    outer, inner = object(), object()
    monkeypatch.setattr(items, "_RUNNING", [outer, inner])
    assert running() is inner
