"""The commands as a user meets them: golden output, both entries, exit statuses, the JSON file, imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_soclab.known_answer.comparing.statistic import Outcome
from pytest_soclab.known_answer.session import GateRequest, run_gate

from .support import CASES, DOCUMENTED, run_path, score, soclab, table, write

GOLDEN = Path(__file__).parent / "golden"
A, B = [f"runs/a{i}/score.md" for i in (1, 2, 3)], [f"runs/b{i}/score.md" for i in (1, 2, 3)]
BLIND = ["--sheet", "blind-1/scorer/scores.csv", "--map", "blind-1/sealed-map.json"]
COMMANDS = {
    "score-run7": ["score", "runs/run7/score.md"],
    "score-calibration": ["score", "calibration.json"],
    "score-arm": ["score", *A, "--m", "2"],
    "score-blind": ["score", "blind:run7", "blind:haiku4", *BLIND],
    "gate-runs": ["gate", "--baseline", "runs/run7/score.md", "--candidate", "runs/haiku4/score.md"],
    "gate-arms": ["gate", "--baseline", *A, "--candidate", *B],
    "gate-held": ["gate", "--baseline", *A, "--candidate", *B, "--baseline-m", "3", "--candidate-m", "1"],
    "gate-odds": ["gate", "--baseline", *A, "--candidate", *A, "--odds"],
    "intel-off": ["intel-off", "--profile", "all_tools", "--settings", "settings.json"],
    "refused": ["gate", "--baseline", "refused/item-twice.md", "--candidate", "refused/totals-disagree.md"],
    "usage": ["gate", "--baseline", "runs/run7/score.md"],
}
STATUS = {"gate-runs": 1, "gate-arms": 1, "refused": 2, "usage": 2}
ENTRIES = {"soclab": [str(Path(sys.executable).parent / "soclab")], "documented": [sys.executable, str(DOCUMENTED)]}


def run(entry, arguments, **environment):
    done = subprocess.run(
        [*ENTRIES[entry], *arguments], cwd=CASES, capture_output=True, check=False, env=os.environ | environment
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_golden_output_from_both_entries(name, tmp_path):
    outputs = {}
    for entry in ENTRIES:
        out = tmp_path / f"{entry}.json"
        status, stdout, stderr = run(entry, [*COMMANDS[name], "--json", str(out)])
        assert status == STATUS.get(name, 0)
        outputs[entry] = stdout, stderr, out.read_bytes() if out.exists() else b""
    assert outputs["soclab"] == outputs["documented"]
    for suffix, content in zip(("txt", "err", "json"), outputs["soclab"], strict=True):
        golden = GOLDEN / f"{name}.{suffix}"
        if "SOCLAB_WRITE_GOLDEN" in os.environ:
            golden.parent.mkdir(exist_ok=True)
            golden.unlink(missing_ok=True)
            if content:
                golden.write_bytes(content)
        assert content == (golden.read_bytes() if golden.exists() else b"")


def test_the_entry_works_where_the_package_is_not_installed(tmp_path):
    code = (
        "import sys, runpy; sys.path = [p for p in sys.path if 'src' not in p];"
        "sys.meta_path = [f for f in sys.meta_path if 'editable' not in repr(f).lower()];"
        f"sys.argv = ['run.py', 'score', {run_path('a1')!r}]; runpy.run_path({str(DOCUMENTED)!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "5 found" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["scores"], "invalid choice: 'scores'"),
        (["score"], "required: RUN"),
        (["gate", "--candidate", "x"], "required: --baseline"),
        (["score", "x", "--m", "two"], "'two' is no whole number"),
        (["score", "x", "--m", "-1"], "'-1' is no whole number"),
        (["score", "x", "--m", "1.5"], "'1.5' is no whole number"),
        (["score", "x", "--m", "١"], "is no whole number"),
        (["gate", "--base", "x", "--candidate", "x"], "required: --baseline"),
        (["intel-off", "extra"], "unrecognized arguments: extra"),
    ],
)
def test_a_usage_error_is_one_line_and_exit_2(arguments, text, capsys):
    ran = soclab(capsys, *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert text in ran.err


def test_help_names_every_command(capsys):
    ran = soclab(capsys, "--help")
    assert ran.status == 0
    for name in ("score", "gate", "intel-off"):
        assert name in ran.out


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (["--baseline-m", 0], "--baseline-m: m is 0 with 1 run, expected 1 to 1"),
        (["--candidate-m", 2], "--candidate-m: m is 2 with 1 run, expected 1 to 1"),
    ],
)
def test_an_m_that_does_not_fit(given, text, capsys, tmp_path):
    ran = soclab(
        capsys, "gate", "--baseline", run_path("a1"), "--candidate", run_path("b1"), *given, out=tmp_path / "o"
    )
    assert (ran.status, ran.out, ran.result) == (2, "", None)
    assert text in ran.err
    assert soclab(capsys, "score", run_path("a1"), "--m", 2).status == 2
    assert soclab(capsys, "score", run_path("a1"), "--m", 1).status == 0


def test_every_bad_file_is_named_at_once(capsys):
    bad = [CASES / "refused" / name for name in ("item-twice.md", "no-item.md", "totals-disagree.md")]
    ran = soclab(capsys, "gate", "--baseline", bad[0], bad[1], "--candidate", bad[2])
    assert ran.status == 2
    assert [path.name in line for path, line in zip(bad, ran.err.splitlines(), strict=True)] == [True] * 3


def test_a_run_given_twice_is_no_second_run(capsys):
    path = run_path("a1")
    for again in (path, str(Path(path).parent / ".." / "a1" / "score.md")):
        ran = soclab(capsys, "gate", "--baseline", path, again, "--candidate", path)
        assert ran.status == 2
        assert "twice" in ran.err
    assert soclab(capsys, "gate", "--baseline", path, "--candidate", path).status == 0


def test_a_baseline_that_scores_no_item_is_refused(capsys, tmp_path):
    empty = write(tmp_path / "e", score({"K1.1": "unknown", "K1.2": "unknown"}))
    apart = [write(tmp_path / f"r{i}", score({f"K1.{i}": "found"})) for i in (1, 2, 3)]
    for baseline in ([empty], apart):
        ran = soclab(capsys, "gate", "--baseline", *baseline, "--candidate", run_path("a1"), out=tmp_path / "o")
        assert (ran.status, ran.out, ran.result) == (2, "", None)
        assert "a baseline that scores no item" in ran.err
    dropped = soclab(capsys, "gate", "--baseline", run_path("a1"), "--candidate", empty)
    assert dropped.status == 1
    assert "K1.1  found 1 of 1 → no verdict (0 of 1 scored it)" in dropped.out


def test_a_lost_beyond_human_count_alone_fails_the_gate(capsys, tmp_path):
    rows = table({"K1.1": "found"})
    with_count = write(tmp_path / "a", f"{rows}\n## Beyond\n\n1. x\n2. y\n\n2 facts beyond the human reports\n")
    without = write(tmp_path / "b", rows)
    ran = soclab(capsys, "gate", "--baseline", with_count, "--candidate", without, out=tmp_path / "o")
    assert ran.status == 1
    assert ran.result["decision"] == "dropped"
    assert ran.result["beyond"] == {"gated": True, "baseline": 2, "candidate": None, "dropped": True}
    assert "beyond-human  2 (1 of 1) → no count (0 of 1)" in ran.out
    ran = soclab(capsys, "gate", "--baseline", without, "--candidate", with_count, out=tmp_path / "o")
    assert ran.status == 0
    assert ran.result["beyond"] == {"gated": False, "baseline": None, "candidate": 2, "dropped": False}
    assert "not gated: fewer than 1 of 1 baseline runs state a count" in ran.out


def test_an_item_of_the_candidate_alone_is_named_as_not_gated(capsys, tmp_path):
    first, second = (
        write(tmp_path / "a", table({"K1.1": "found"})),
        write(tmp_path / "b", table({"K1.1": "found", "x": "wrong"})),
    )
    ran = soclab(capsys, "gate", "--baseline", first, "--candidate", second, out=tmp_path / "o")
    assert ran.status == 0
    assert ran.result["not_gated"] == [{"item": "x", "scored": 0, "of": 1}]
    assert "x  not gated: 0 of 1 baseline runs scored it" in ran.out


def test_unchecked_totals_are_said(capsys, tmp_path):
    path = write(tmp_path / "r", table({"K1.1": "found"}))
    assert "totals: unchecked, no Totals line" in soclab(capsys, "score", path).out
    gate = soclab(capsys, "gate", "--baseline", path, "--candidate", path).out
    assert gate.count("totals unchecked, no Totals line: r") == 2


def test_results_hold_no_float_but_the_odds(capsys, tmp_path):
    def floats(value):
        if isinstance(value, dict):
            return [found for inner in value.values() for found in floats(inner)]
        if isinstance(value, list):
            return [found for inner in value for found in floats(inner)]
        return [value] if isinstance(value, float) else []

    arms = ("--baseline", run_path("run7"), "--candidate", run_path("haiku4"))
    ran = soclab(capsys, "gate", *arms, out=tmp_path / "o")
    assert floats(ran.result) == []
    assert "%" not in ran.out
    odds = soclab(capsys, "gate", *arms, "--odds", out=tmp_path / "p")
    assert odds.status == 1
    assert {key: value for key, value in odds.result.items() if key != "odds"} == ran.result
    assert odds.out.startswith(ran.out)
    luck = odds.result["odds"]["dropped_by_luck"]
    assert [row["p"] for row in luck] == [0.8, 0.9, 0.95, 0.99]
    assert luck[1]["one_item"] == pytest.approx(0.09)
    assert luck[1]["any_item"] == pytest.approx(1 - 0.91**57)
    assert odds.result["odds"]["real_loss"]["one_item"] == pytest.approx(0.475)


# The JSON file


def test_the_result_replaces_an_older_one_whole(capsys, tmp_path):
    out = tmp_path / "out.json"
    out.write_text("old " * 100_000)
    assert soclab(capsys, "score", run_path("a1"), out=out).result["format"] == "known-answer-score/1"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]
    before = out.read_bytes()
    assert soclab(capsys, "score", CASES / "refused" / "no-item.md", "--json", out).status == 2
    assert out.read_bytes() == before


def test_a_result_that_cannot_be_written_is_an_error(capsys, tmp_path):
    source = write(tmp_path, score({"K1.1": "found"}))
    settings = write(tmp_path, "{}", "settings.json")
    for out, text in [
        (tmp_path / "none" / "out.json", "cannot be written (No such file or directory)"),
        (tmp_path, "a directory, expected a file"),
        (source, "an input named as the output"),
        (settings, "an input named as the output"),
        (tmp_path / ("n" * 300), "cannot be written"),
        ("a\0b", "cannot be written"),
    ]:
        ran = soclab(capsys, "score", source, "--settings", settings, "--json", out)
        assert (ran.status, ran.out) == (2, "")
        assert text in ran.err
        assert ran.err.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"score.md", "settings.json"}
    assert "Item by item" in Path(source).read_text()


def test_a_device_is_written_to_and_not_replaced(capsys):
    assert soclab(capsys, "score", run_path("a1"), "--json", "/dev/null").status == 0
    assert not Path("/dev/null").is_file()


# Surroundings


def test_a_terminal_without_the_characters_gets_escapes():
    status, stdout, stderr = run("soclab", COMMANDS["gate-arms"], PYTHONIOENCODING="ascii")
    assert (status, stderr) == (1, b"")
    assert rb"K1.2  partly (body) 2 of 3 \u2192 partly (dump) 2 of 3" in stdout


def test_a_reader_that_leaves_early_is_no_traceback():
    command = f"{ENTRIES['soclab'][0]} score runs/run7/score.md | true"
    done = subprocess.run(["bash", "-c", command], cwd=CASES, capture_output=True, check=False)
    assert done.stderr == b""


FULL = """
import errno, io, os, sys

class Full(io.TextIOWrapper):
    def write(self, text):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

sys.stdout = Full(sys.stdout.buffer)
from pytest_soclab.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_an_output_that_takes_nothing_more_is_one_line():
    command = [sys.executable, "-c", FULL, "score", "runs/run7/score.md"]
    done = subprocess.run(command, cwd=CASES, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (2, "soclab: [Errno 28] No space left on device\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here; the test above runs everywhere")
def test_a_full_disk_is_one_line():
    command = f"{ENTRIES['soclab'][0]} score runs/run7/score.md > /dev/full"
    done = subprocess.run(["bash", "-c", command], cwd=CASES, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (2, "soclab: [Errno 28] No space left on device\n")


@pytest.mark.parametrize(
    ("name", "absent"), [("gate-runs", "scipy pydantic pytest jinja2"), ("intel-off", "scipy pytest")]
)
def test_a_command_imports_only_what_it_needs(name, absent):
    code = "import sys; from pytest_soclab.cli.main import main; main(sys.argv[1:]); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, *COMMANDS[name]], cwd=CASES, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert not set(absent.split()) & set(done.stdout.splitlines()[-1].split())


# The same as calls


def test_the_gate_as_a_call():
    request = GateRequest(baseline=(run_path("run7"),), candidate=(run_path("haiku4"),))
    result = run_gate(request)
    assert result.dropped
    assert len(result.items) == len(result.scored) == 57
    assert result.sentence(result.items[3]) == "K1.4  found 1 of 1 → missed 1 of 1"
    assert [item.outcome for item in result.items[:4]] == [Outcome.HELD, Outcome.HELD, Outcome.HELD, Outcome.DROPPED]
    assert result.beyond_sentence == "beyond-human  9 (1 of 1) → 7 (1 of 1)"
    assert json.loads(json.dumps(result.to_json()))["format"] == "known-answer-gate/1"
