"""Every case of the contract, against the answers that came with it."""

from __future__ import annotations

from collections import defaultdict

import pytest

from .support import CASES, EXPECTED, run_path, soclab


def pairs(compared):
    return {entry["item"]: [entry["baseline"]["verdict"], entry["candidate"]["verdict"]] for entry in compared}


@pytest.mark.parametrize("name", EXPECTED["runs"])
def test_a_scored_run_reads_as_the_benchmark_counts_it(name, capsys, tmp_path):
    ran = soclab(capsys, "score", run_path(name), out=tmp_path / "out.json")
    run, expected = ran.result["runs"][0], EXPECTED["runs"][name]
    assert ran.status == 0
    assert ran.result["format"] == "known-answer-score/1"
    assert ran.result["arm"] is None
    assert run["name"] == name
    assert run["source"] == run_path(name)
    assert run["totals"] == expected["totals"] | {"unknown": 0}
    assert (run["credited"], run["items"]) == (expected["credited"], expected["of"])
    assert run["verdicts"] == expected["verdicts"]
    assert list(run["verdicts"]) == list(expected["verdicts"])
    assert (run["beyond"], run["totals_checked"]) == (expected["beyond"], expected["totals_checked"])
    tags = defaultdict(list)
    for item, tag in run["tags"].items():
        tags[tag].append(item)
    assert {tag: sorted(items) for tag, items in tags.items()} == expected["tags"]
    assert {tag: count for tag, count in run["provenance"]["counts"].items() if count} == {
        tag: len(items) for tag, items in expected["tags"].items()
    }


@pytest.mark.parametrize(("name", "counts"), [("run7", [36, 1, 1, 18]), ("haiku4", [38, 2, 0, 11])])
def test_the_tag_counts_are_the_benchmark_s_own(name, counts, capsys, tmp_path):
    provenance = soclab(capsys, "score", run_path(name), out=tmp_path / "o").result["runs"][0]["provenance"]
    found = provenance["counts"]
    tags = ("own analysis", "own analysis + lookup", "lookup only", "no cited entry")
    assert [found[tag] for tag in tags] == counts
    assert found["undeclared"] == 0
    assert provenance["found_by_analysis"] == counts[0] + counts[1]
    assert provenance["found_only_by_lookup"] == counts[2]
    assert provenance["read"] == ["evidence.json", "report.md", "mitre.json"]


def test_the_gate_of_the_two_runs(capsys, tmp_path):
    expected = EXPECTED["gate"]
    arguments = ("gate", "--baseline", run_path("run7"), "--candidate", run_path("haiku4"))
    ran = soclab(capsys, *arguments, out=tmp_path / "out.json")
    check_gate(ran, expected)
    changed = {entry["item"]: [entry["baseline"], entry["candidate"]] for entry in ran.result["tag_changed"]}
    assert changed == expected["tag_changed"]


def check_gate(ran, expected):
    assert ran.status == expected["exit"]
    result = ran.result
    assert result["format"] == "known-answer-gate/1"
    assert result["decision"] == ("dropped" if expected["exit"] else "held")
    assert pairs(result["dropped"]) == expected["dropped"]
    assert pairs(result["improved"]) == expected["improved"]
    assert [entry["item"] for entry in result["not_gated"]] == expected["not_gated"]
    assert len(result["held"]) == expected["held"]
    assert {key: result["beyond"][key] for key in expected["beyond"]} == expected["beyond"]
    assert result["beyond"]["gated"] is True


@pytest.mark.parametrize(
    ("name", "m"),
    [("m=2of3", []), ("m=2of3", [2, 2]), ("m=1,3", [1, 3]), ("m=3,1", [3, 1])],
)
def test_the_arms_of_three(name, m, capsys, tmp_path):
    arms = [
        "--baseline",
        *(run_path(f"a{i}") for i in (1, 2, 3)),
        "--candidate",
        *(run_path(f"b{i}") for i in (1, 2, 3)),
    ]
    given = ["--baseline-m", m[0], "--candidate-m", m[1]] if m else []
    ran = soclab(capsys, "gate", *arms, *given, out=tmp_path / "out.json")
    check_gate(ran, EXPECTED["arms"][name])
    expected_m = m or [2, 2]
    assert [ran.result[arm]["m"] for arm in ("baseline", "candidate")] == expected_m
    assert ran.result["baseline"]["runs"] == ["a1", "a2", "a3"]


def test_the_blind_sheet_holds_the_same_verdicts(capsys, tmp_path):
    opened = ("--sheet", CASES / "blind-1/scorer/scores.csv", "--map", CASES / "blind-1/sealed-map.json")
    ran = soclab(capsys, "gate", "--baseline", "blind:run7", "--candidate", "blind:haiku4", *opened, out=tmp_path / "o")
    check_gate(ran, EXPECTED["gate"])
    assert ran.result["tag_changed"] == []
    runs = soclab(capsys, "score", "blind:run7", "blind:haiku4", *opened, out=tmp_path / "p").result["runs"]
    for run in runs:
        assert run["verdicts"] == EXPECTED["runs"][run["name"]]["verdicts"]
        assert run["beyond"] == EXPECTED["runs"][run["name"]]["beyond"]
        assert run["provenance"] is None
    mixed = soclab(capsys, "gate", "--baseline", "blind:run7", "--candidate", run_path("run7"), *opened)
    assert mixed.status == 0


@pytest.mark.parametrize("name", EXPECTED["refused"])
@pytest.mark.parametrize("command", ["score", "baseline", "candidate"])
def test_a_refused_file_is_refused_everywhere(name, command, capsys, tmp_path):
    path = CASES / "refused" / name
    good = run_path("a1")
    arguments = {
        "score": ("score", path),
        "baseline": ("gate", "--baseline", path, "--candidate", good),
        "candidate": ("gate", "--baseline", good, "--candidate", path),
    }[command]
    out = tmp_path / "out.json"
    ran = soclab(capsys, *arguments, out=out)
    assert ran.status == 2
    assert ran.out == ""
    assert not list(tmp_path.iterdir())
    assert ran.err.count("\n") == 1
    for text in EXPECTED["refused"][name]:
        assert text in ran.err.removeprefix(str(path.parent))
    assert name in ran.err
    assert "Traceback" not in ran.err


def test_every_refused_file_has_its_texts():
    assert {path.name for path in (CASES / "refused").iterdir()} == set(EXPECTED["refused"])


def test_the_calibration_score(capsys, tmp_path):
    run = soclab(capsys, "score", CASES / "calibration.json", out=tmp_path / "o").result["runs"][0]
    expected = EXPECTED["calibration"]
    assert run["name"] == "cal1"
    assert run["totals"] == expected["totals"] | {"unknown": expected["unknown"]}
    assert run["beyond"] is expected["beyond"]
    assert run["totals_checked"] is False


def test_the_intel_off_arm(capsys, tmp_path):
    expected = EXPECTED["intel_off"]
    settings = CASES / "settings.json"
    ran = soclab(capsys, "intel-off", *expected["args"], "--settings", settings, out=tmp_path / "o")
    assert ran.status == expected["exit"]
    result = ran.result
    assert result["format"] == "known-answer-intel-off/1"
    assert (result["base"], result["name"]) == (expected["base"], expected["name"])
    assert result["profile"]["exclude_servers"] == expected["exclude_servers"]
    assert result["withheld"] == expected["withheld"]
    assert result["not_withheld"] == expected["not_withheld"]
    missing = soclab(capsys, "intel-off", "--profile", "all_tolls", "--settings", settings)
    assert missing.status == expected["no_such_profile_exit"]
    assert "did you mean 'all_tools'" in missing.err
