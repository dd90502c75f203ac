"""Results that other programs wrote: each form in its real shape, and what is refused of it."""

from __future__ import annotations

import json

import pytest

from .support import soclab, write

WORDS = "C: found\nP: partly\nI: missed\nN: missed\n✅: found\n1: found\n0.5: partly (dump)\n0: missed\n"


def runs(capsys, tmp_path, path, *more):
    out = tmp_path / "out.json"
    out.unlink(missing_ok=True)
    ran = soclab(capsys, "score", path, *more, out=out)
    assert ran.status == 0, ran.err
    return {run["name"]: run["verdicts"] for run in ran.result["runs"]}


def refused(capsys, path, *more):
    ran = soclab(capsys, "score", path, *more)
    assert (ran.status, ran.out) == (2, "")
    assert "Traceback" not in ran.err
    return ran.err


@pytest.fixture
def own(tmp_path):
    return ("--words", write(tmp_path, WORDS, "words.txt"))


# Rows

CSV = (
    "item,verdict,run,trial,note\n"
    "K1.1 a,found,base,1,x\nK1.2,partly,base,1,\nK1.1 b,missed,base,2,\nK1.2,found,base,2,\n"
)


def test_csv_rows_make_an_arm_of_runs_and_trials(capsys, tmp_path):
    path = write(tmp_path, CSV, "r.csv")
    assert runs(capsys, tmp_path, path) == {
        "base trial 1": {"K1.1": "found", "K1.2": "partly (body)"},
        "base trial 2": {"K1.1": "missed", "K1.2": "found"},
    }
    assert list(runs(capsys, tmp_path, f"{path}#base trial 2")) == ["base trial 2"]
    assert "did you mean 'base trial 2'" in refused(capsys, f"{path}#base trial 3")
    assert "not read: note" in soclab(capsys, "score", path).out


def test_the_gate_of_two_runs_in_one_file_names_the_lines(capsys, tmp_path):
    path = write(tmp_path, "item;verdict;run\nK1.1;found;a\nK1.1;missed;b\n", "r.csv")
    ran = soclab(capsys, "gate", "--baseline", f"{path}#a", "--candidate", f"{path}#b")
    assert ran.status == 1
    assert f"baseline: {path}:2\n    candidate: {path}:3\n" in ran.out


def test_jsonl_rows(capsys, tmp_path, own):
    rows = [{"item": "K1.1", "verdict": 1}, {"Item": "K1.2", "Score": "✅"}, {"id": 7, "verdict": 0.5}]
    path = write(tmp_path / "run9", "\n\n".join(map(json.dumps, rows)), "r.jsonl")
    assert runs(capsys, tmp_path, path, *own) == {"run9": {"K1.1": "found", "K1.2": "found", "7": "partly (dump)"}}


def test_every_bad_row_is_named(capsys, tmp_path):
    rows = ['{"item": "K1.1", "verdict": "great"}', '{"item": "K1.2"}', "[]"]
    text = "\n".join([*rows, '{"item": "K1.3", "verdict": null}', '{"a": 1, "a": 2}'])
    error = refused(capsys, write(tmp_path, text, "r.jsonl"))
    assert [line.split(":")[1].split()[0] for line in error.splitlines()] == ["1", "2", "3", "4", "5"]
    assert "'great'" in error
    assert "map the word with --words FILE" in error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("label,item,verdict\nQ,K1,found\n", "expected blind:NAME with --sheet CSV --map JSON"),
        ("item,verdict\nK1.1,found\nK1.1,found\n", "item 'K1.1' twice in the run"),
        ("item,verdict\nK1.1,\n", "has the verdict ''"),
        ("item,verdict\n,found\n", "an item without a label"),
        ("item,verdict\nK1.1,found,x\n", "3 cells under a header of 2"),
        ("item,verdict,verdict\nK1.1,found,x\n", "the column 'verdict' twice"),
        ("item,verdict,run\nK1.1,found,\n", "run: ''"),
        ("item,verdict\n", "no scored item"),
        ("", "the header ''"),
    ],
)
def test_rows_that_cannot_be_read(text, message, capsys, tmp_path):
    assert message in refused(capsys, write(tmp_path, text, "r.csv"))


def test_a_key_pattern(capsys, tmp_path):
    path = write(tmp_path / "r", "item,verdict\ncase ABC-12 login,found\n[abc-13],missed\n", "r.csv")
    assert runs(capsys, tmp_path, path, "--key", r"\b([A-Z]+-\d+)\b") == {"r": {"abc-12": "found", "abc-13": "missed"}}
    assert "does not match --key" in refused(capsys, path, "--key", r"X-\d+")
    assert "no regular expression" in refused(capsys, path, "--key", "(")


# JUnit XML

JUNIT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" errors="1" failures="1" skipped="1" tests="5">
<properties><property name="a" value="b"/></properties>
<testcase classname="tests.test_key" name="K1.1 family" time="0.1"/>
<testcase classname="tests.test_key" name="test_other[a]"><system-out>x</system-out></testcase>
<testcase classname="tests.test_key" name="K1.2"><failure message="lost">trace</failure></testcase>
<testcase classname="tests.test_key" name="K1.3"><error message="broke">trace</error></testcase>
<testcase classname="tests.test_key" name="K1.4"><skipped message="later"/></testcase>
</testsuite></testsuites>
"""


def test_junit_xml(capsys, tmp_path):
    path = write(tmp_path / "run9", JUNIT, "out.xml")
    assert runs(capsys, tmp_path, path) == {
        "run9": {
            "K1.1": "found",
            "tests.test_key::test_other[a]": "found",
            "K1.2": "missed",
            "K1.3": "unknown",
            "K1.4": "unknown",
        }
    }
    assert "not read: properties, property, system-out" in soclab(capsys, "score", path).out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('tests="5"', 'tests="6"'), 'tests="6", but 5 such cases'),
        (('failures="1"', 'failures="0"'), 'failures="0", but 1 such cases'),
        (("K1.2", "K1.1"), "item 'K1.1' twice"),
        (('name="K1.3"', ""), "a test case without a name"),
        (("</testsuites>", ""), "XML that cannot be read"),
        (("<testsuites>", "<!DOCTYPE a [<!ENTITY b 'c'>]><testsuites>"), "XML with a document type"),
        (("testsuites", "other"), "the root <other>"),
        (('encoding="utf-8"', 'encoding="nonsense"'), "XML that cannot be read"),
    ],
)
def test_junit_xml_that_cannot_be_read(change, message, capsys, tmp_path):
    assert message in refused(capsys, write(tmp_path, JUNIT.replace(*change), "out.xml"))


# inspect_ai


def inspect_log(**more):
    def sample(name, epoch, value):
        scores = {"match": {"value": value, "answer": "x"}}
        return {"id": name, "epoch": epoch, "input": "q", "target": "t", "scores": scores, "metadata": {}}

    samples = [sample("K1.1", 1, "C"), sample("K1.2", 1, "I"), sample("K1.1", 2, "P"), sample("K1.2", 2, "C")]
    samples[3] |= {"error": {"message": "boom"}}
    results = {"total_samples": 4, "completed_samples": 4}
    log = {"version": 2, "status": "success", "eval": {"task": "t"}, "results": results, "samples": samples}
    return log | more


def test_an_inspect_log(capsys, tmp_path, own):
    path = write(tmp_path, json.dumps(inspect_log(stats={})), "log.json")
    assert runs(capsys, tmp_path, path, *own) == {
        "epoch 1": {"K1.1": "found", "K1.2": "missed"},
        "epoch 2": {"K1.1": "partly (body)", "K1.2": "unknown"},
    }
    assert "not read: samples.input, samples.metadata, samples.target, stats" in soclab(capsys, "score", path, *own).out
    assert "has the verdict 'C'" in refused(capsys, path)


def test_several_scorers_are_told_apart(capsys, tmp_path, own):
    log = inspect_log()
    for sample in log["samples"]:
        sample["scores"]["other"] = {"value": "I"}
    path = write(tmp_path, json.dumps(log), "log.json")
    assert "2 scorers: match, other" in refused(capsys, path, *own)
    assert runs(capsys, tmp_path, f"{path}#other", *own)["epoch 1"] == {"K1.1": "missed", "K1.2": "missed"}
    assert "no scorer 'mach'" in refused(capsys, f"{path}#mach", *own)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"status": "error"}, "status: 'error'"),
        ({"samples": None}, "samples: null"),
        ({"samples": []}, "results.total_samples: 4, but 0 samples"),
        ({"results": {"completed_samples": 5}}, "results.completed_samples: 5, but 4 samples"),
        ({"samples": [{"id": None, "scores": {}}], "results": None}, "samples[0].id: null"),
        ({"samples": [{"id": "K1", "scores": {"m": {"value": {"a": 1}}}}], "results": None}, "has the verdict"),
    ],
)
def test_an_inspect_log_that_cannot_be_read(more, message, capsys, tmp_path, own):
    assert message in refused(capsys, write(tmp_path, json.dumps(inspect_log(**more)), "log.json"), *own)


def test_a_packed_log_is_refused(capsys, tmp_path):
    assert "inspect log convert --to json" in refused(capsys, write(tmp_path, b"PK\3\4", "log.eval"))


# promptfoo


def promptfoo(*results, **stats):
    said = stats or {"successes": sum(one["success"] for one in results), "failures": 0, "errors": 0}
    if not stats:
        said["failures"] = len(results) - said["successes"]
    return {"evalId": "e", "results": {"version": 3, "results": list(results), "stats": said}, "config": {}}


def result(name, *, success, provider="openai:gpt", **more):
    case = {"description": name, "vars": {}}
    return {"success": success, "score": 1, "testIdx": 0, "promptIdx": 0, "provider": {"id": provider}} | {
        "testCase": case,
        **more,
    }


def test_a_promptfoo_output(capsys, tmp_path):
    log = promptfoo(
        result("K1.1", success=True),
        result("K1.2", success=False, failureReason=1),
        result("K1.3", success=False, failureReason=2, error="timeout"),
        result("K1.1", success=False),
    )
    path = write(tmp_path, json.dumps(log), "log.json")
    assert runs(capsys, tmp_path, path) == {
        "trial 1": {"K1.1": "found", "K1.2": "missed", "K1.3": "unknown"},
        "trial 2": {"K1.1": "missed"},
    }
    assert "not read: config, evalId, results.score" in soclab(capsys, "score", path).out


def test_several_providers_are_told_apart(capsys, tmp_path):
    log = promptfoo(result("K1.1", success=True), result("K1.1", success=False, provider="other"))
    path = write(tmp_path, json.dumps(log), "out.json")
    assert "2 setups: openai:gpt, other" in refused(capsys, path)
    ran = soclab(capsys, "gate", "--baseline", f"{path}#openai:gpt", "--candidate", f"{path}#other")
    assert ran.status == 1


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (promptfoo(result("", success=True)), "a test without a description"),
        (promptfoo(result("K1", success=True), successes=2, failures=0), "2 results counted, but 1 listed"),
        (promptfoo(result("K1", success=True) | {"success": 1}), "success: 1"),
        (promptfoo(), "no scored item"),
    ],
)
def test_a_promptfoo_output_that_cannot_be_read(log, message, capsys, tmp_path):
    assert message in refused(capsys, write(tmp_path, json.dumps(log), "out.json"))


def test_a_part_of_what_has_none_is_refused(capsys, tmp_path):
    page = write(tmp_path, "| # | V |\n|---|---|\n| K1.1 | found |\n")
    assert "the part run7" in refused(capsys, f"{page}#run7")
    hashed = write(tmp_path, "| # | V |\n|---|---|\n| K1.1 | found |\n", "a#b.md")
    assert soclab(capsys, "score", hashed).status == 0


def test_more_rows_than_are_read_are_refused_with_the_limit(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("pytest_soclab.known_answer.reading.building.MOST_ROWS", 5)
    path = write(tmp_path, "item,verdict\n" + "".join(f"K1.{n},found\n" for n in range(6)), "r.csv")
    assert "r.csv:7: more than 5 rows, expected at most 5 scored rows a file" in soclab(capsys, "score", path).err
