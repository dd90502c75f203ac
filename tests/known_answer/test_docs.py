"""The page for users: every command on it runs, every block on it is true."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_soclab.assurance.odds import at_least_one, reported_dropped
from pytest_soclab.known_answer.reading.blind import read_blind
from pytest_soclab.known_answer.reading.calibration import read_calibration

from .support import CASES, read, soclab, words, write

PAGE = Path(__file__).parents[2] / "docs" / "known-answer-gate.md"
TEXT = PAGE.read_text(encoding="utf-8")
COMMANDS = [shlex.split(line.strip()) for line in TEXT.splitlines() if line.startswith("    soclab ")]
PYTEST_COMMANDS = [shlex.split(line.strip()) for line in TEXT.splitlines() if line.startswith("    pytest ")]
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
STATUS = {"score": {0}, "gate": {0, 1}, "intel-off": {0}}


def blocks(language):
    return [content for name, content in BLOCKS if name == language]


@pytest.fixture(autouse=True)
def in_the_cases(monkeypatch):
    monkeypatch.chdir(CASES)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_of_the_page_runs(command, capsys, tmp_path):
    arguments = [word.replace("/tmp", str(tmp_path)) for word in command[1:]]
    ran = soclab(capsys, *arguments)
    assert ran.status in STATUS[arguments[0]]
    assert ran.err == ""


@pytest.mark.parametrize("command", PYTEST_COMMANDS, ids=" ".join)
def test_a_pytest_command_of_the_page_runs(command, tmp_path):
    shutil.copytree(CASES / "runs", tmp_path / "runs")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    ran = subprocess.run(
        [sys.executable, "-m", *command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "dropped: K3.1  found 1 of 1 → partly (body) 1 of 1" in ran.stdout
    assert "FAILED known-answer::beyond-human" in ran.stdout
    assert "19 failed, 39 passed" in ran.stdout


def test_every_command_of_the_page_is_run():
    prose = re.sub(r"^```.*?^```$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
    shown = re.findall(r"^    (\S.*)$", prose, re.MULTILINE)
    assert [shlex.split(line) for line in shown if line] == [*COMMANDS, *PYTEST_COMMANDS]
    assert PYTEST_COMMANDS


def test_the_printed_output_is_the_output(capsys):
    shown = "\n".join(soclab(capsys, *command[1:]).out for command in COMMANDS)
    assert len(blocks("text")) == 2
    for block in blocks("text"):
        assert block in shown


def test_the_score_file_of_the_page_reads(tmp_path):
    (content,) = blocks("markdown")
    found = read(tmp_path, content)
    assert words(found) == {
        "K1.1a": "found",
        "K7 17": "partly (body)",
        "k9 mutex runnung": "missed",
        "K10 T1027": "found",
    }
    assert (found.beyond, found.totals_checked) == (2, True)


def test_the_sheet_the_map_and_the_calibration_of_the_page_read(tmp_path):
    (sheet,), (sealed, calibration) = blocks("csv"), blocks("json")
    opened = read_blind(write(tmp_path, sheet, "s.csv"), write(tmp_path, sealed, "m.json"))
    assert opened.run("blind:run7").beyond == 9
    assert len(read_calibration(write(tmp_path, calibration, "c.json")).verdicts) == 3


def test_the_python_of_the_page_runs(capsys):
    (code,) = blocks("python")
    exec(compile(code, str(PAGE), "exec"), {})
    assert capsys.readouterr().out.count("\n") == 57


def test_the_table_of_odds_is_what_the_odds_say():
    rows = []
    for n, m in ((1, 1), (2, 2), (3, 2), (3, 3), (5, 3), (5, 4), (7, 4)):
        arm = (m, n)
        luck = [at_least_one(reported_dropped(p, p, arm, arm), 57) for p in (0.95, 0.99)]
        loss = reported_dropped(0.95, 0.5, arm, arm)
        rows.append(f"| {n} | {m} | {luck[0]:.4f} | {luck[1]:.4f} | {loss:.4f} |")
    body = TEXT.split("<!-- odds -->\n")[1].split("<!-- /odds -->")[0].strip().splitlines()
    assert body[2:] == rows
