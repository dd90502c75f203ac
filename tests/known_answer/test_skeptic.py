"""What a hand-made score file can get wrong without a word: nothing of it may pass for a held gate."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from pytest_soclab.base.errors import KnownAnswerError

from .support import CASES, DOCUMENTED, read, run_path, score, soclab, table, words, write

ITEMS = table({"K1.1 a": "found", "K1.2 b": "missed"})
BOTH = {"K1.1": "found", "K1.2": "missed"}
LEDGER = [{"id": "ev_0001", "kind": "static_analysis"}, {"id": "ev_0002", "kind": "reputation_lookup"}]
FRAGMENT = "the loader checks the MAC address of every card"


def under_heading(text):
    return f"## Item by item\n\n{ITEMS}\n{text}\n"


def refused(tmp_path, text):
    with pytest.raises(KnownAnswerError) as caught:
        read(tmp_path, text)
    return str(caught.value)


def tags_of(capsys, tmp_path, row, report=None, ledger=LEDGER):
    write(tmp_path, json.dumps(ledger), "evidence.json")
    if report:
        write(tmp_path, report, "report.md")
    path = write(tmp_path, score({"K1.1": "found"}).replace("made up", row))
    return soclab(capsys, "score", path, out=tmp_path / "out.json").result["runs"][0]["tags"]["K1.1"]


# Rows that no table holds


@pytest.mark.parametrize(
    "text",
    [
        "| K9 UA | found | x |",
        "| own hashes | found | x |",
        "### Strings\n\n| String | run | note |\n| own hashes | found | x |",
        "### K9\n\n| Item | run | note |\n|---|---|\n| K9 hashes | found | x |",
        "<!-- to do\n\n### K2\n\n| # | run |\n|---|---|\n| K2.1 a | found |",
        "```text\nfor example\n\n### K2\n\n| # | run |\n|---|---|\n| K2.1 a | found |",
        "### K2\n\n| K2.1 a | found | x |\n|---|---|---|\n| K2.2 b | found | x |",
        "### K2\n\n| K2.1 a | found | x |\n|---|---|---|",
    ],
    ids=["group", "no code", "no line", "short line", "open comment", "open fence", "as head", "head alone"],
)
def test_an_item_row_that_no_table_holds_is_refused(text, tmp_path):
    whole = under_heading(text)
    row = next(line for line in text.split("\n") if "found" in line)
    message = refused(tmp_path, whole)
    assert message.startswith(f"{tmp_path}/score.md:{1 + whole.split(row)[0].count(chr(10))}: a row of an item table")
    assert row in message


@pytest.mark.parametrize(
    "text",
    [
        "<!-- | K1.3 | found | x | -->",
        "Either found | missed, as a | b says.",
        "## Words\n\n| mutex | found | x |",
        "### Totals a group\n\n| Group | found | missed |\n|---|---|---|\n| K1 | 1 | 1 |",
    ],
)
def test_what_is_no_item_row_stands_where_it_likes(text, tmp_path):
    assert words(read(tmp_path, under_heading(text))) == BOTH


def test_item_labels_behind_a_column_of_numbers_are_refused(tmp_path):
    text = "## Item by item\n\n| # | Item | run |\n|---|---|---|\n| 1 | K1.1 | found |\n| 2 | K9 UA | missed |\n"
    message = refused(tmp_path, text)
    assert "score.md:3: item labels in column 2, 'item', behind a column of numbers" in message


def test_two_halves_of_a_table_without_the_heading_are_not_read_as_one_half(tmp_path):
    half = table({"K2.1 a": "found", "K2.2 b": "missed"})
    expected = "score.md:6: a second table that scores 2 items, beside the 2 of the table on line 1"
    assert expected in refused(tmp_path, f"{ITEMS}\n{half}")
    assert "score.md:6: a second table" in refused(tmp_path, f"{ITEMS}\n{ITEMS}")
    assert "score.md:6: a second table" in refused(tmp_path, f"{ITEMS}\n{table({'K9 UA': 'found'})}")
    uncoded = "| String | V |\n|---|---|\n| own hashes | found |\n"
    assert "score.md:6: a second table" in refused(tmp_path, f"{ITEMS}\n{uncoded}")


def test_the_gate_names_a_table_that_it_does_not_read(capsys, tmp_path):
    path = write(tmp_path / "one", f"{ITEMS}\n## Claims dropped\n\n{table({'K9 UA': 'found'})}")
    out = soclab(capsys, "gate", "--baseline", path, "--candidate", run_path("a1")).out
    assert "  note on one: the table on line 8 is not read as items\n" in out


# The file's own sentences


@pytest.mark.parametrize(
    "line",
    [
        "**Totals** 5 found / 1 missed",
        "**Totals (2 items):** 5 found / 1 missed",
        "Scored twice. **Totals:** 5 found / 1 missed",
        "**Totals** – 5 found / 1 missed",
    ],
)
def test_a_totals_line_without_its_colon_or_its_place_is_checked(line, tmp_path):
    assert "score.md:1: the Totals line says 5 found, the item table holds 1" in refused(
        tmp_path, f"{line}\n\n{under_heading('')}"
    )
    right = line.replace("5", "1")
    assert read(tmp_path, f"{right}\n\n{under_heading('')}").totals_checked


@pytest.mark.parametrize("line", ["Sub-totals: 5 found", "Totals for run7: 5 found", "Totals (haiku4): 5 found"])
def test_totals_of_something_else_are_not_the_line(line, tmp_path):
    assert not read(tmp_path, f"# Score: run8\n\n{line}\n\n{under_heading('')}").totals_checked


@pytest.mark.parametrize("number", ["2-3", "-3", "~3", "2–3"])
def test_a_range_or_a_guess_is_no_beyond_human_count(number, tmp_path):
    found = read(tmp_path, under_heading(f"## Beyond\n\n1. a\n2. b\n3. c\n\n{number} facts beyond the human reports"))
    assert found.beyond is None


# Evidence


@pytest.mark.parametrize("kind", ["Reputation_Lookup", " INDICATOR_REPORT "])
def test_a_lookup_kind_is_one_in_any_case(kind, capsys, tmp_path):
    assert tags_of(capsys, tmp_path, "ev_0001", ledger=[{"id": "ev_0001", "kind": kind}]) == "lookup only"
    stored = {"mcp.servers": {"s": {"tools": {"t": {"kind": kind}}}}}
    settings = write(tmp_path, json.dumps(stored), "s.json")
    ran = soclab(capsys, "intel-off", "--settings", settings, out=tmp_path / "arm.json")
    assert ran.result["profile"]["exclude_servers"] == ["s"]


@pytest.mark.parametrize("gap", ["[…]", "[...]", "( … )", "…", "..."])
def test_an_ellipsis_in_brackets_splits_a_fragment(gap, capsys, tmp_path):
    row = f'"the loader checks {gap} address of every card"'
    assert tags_of(capsys, tmp_path, row, f"Then {FRAGMENT} [ev_0001].\n") == "own analysis"


def test_an_id_in_a_comment_credits_nothing(capsys, tmp_path):
    assert tags_of(capsys, tmp_path, "ev_0001 <!-- once ev_0002 -->") == "own analysis"


def test_the_gate_says_which_runs_have_no_stored_evidence(capsys, tmp_path):
    write(tmp_path / "kept", json.dumps(LEDGER), "evidence.json")
    kept = write(tmp_path / "kept", score({"K1.1": "found"}).replace("made up", "ev_0001"))
    bare = write(tmp_path / "bare", score({"K1.1": "found"}))
    out = soclab(capsys, "gate", "--baseline", kept, "--candidate", bare).out
    assert "evidence not read, no evidence.json, report.md or mitre.json beside the score: bare\n" in out


# The commands


def test_a_run_in_both_arms_is_named(capsys):
    ran = soclab(capsys, "gate", "--baseline", run_path("a1"), run_path("a2"), "--candidate", run_path("a2"))
    assert "\nnote: in both arms: a2\n" in ran.out


def test_a_lost_count_stands_in_the_first_lines(capsys, tmp_path):
    one, two = (score({"K1.1": "found"}, after=f"## Beyond\n\n{n}") for n in ("1. a\n\n1 fact beyond", ""))
    paths = write(tmp_path / "one", one), write(tmp_path / "two", two)
    ran = soclab(capsys, "gate", "--baseline", paths[0], "--candidate", paths[1])
    assert ran.status == 1
    assert ran.out.splitlines()[1].endswith("0 not gated; beyond-human count dropped")


READS = {
    "score": ("--json", "--settings", "--sheet", "--map"),
    "gate": ("--json", "--settings", "--sheet", "--map"),
    "intel-off": ("--json", "--settings"),
}


@pytest.mark.parametrize(
    ("command", "option"), [(name, option) for name, options in READS.items() for option in options]
)
def test_an_empty_file_name_is_refused(option, command, capsys):
    run = run_path("a1")
    arguments = {"score": [run], "gate": ["--baseline", run, "--candidate", run], "intel-off": []}[command]
    ran = soclab(capsys, command, *arguments, option, "")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == f"{option}: an empty file name, expected a file; name it, or drop the option\n"


@pytest.mark.parametrize("command", [["score", "runs/a1/score.md"], ["intel-off"]], ids=["score", "intel-off"])
def test_a_closed_standard_output_is_one_line(command, tmp_path):
    out = tmp_path / "out.json"
    ran = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", sys.executable, str(DOCUMENTED), *command, "--json", str(out)],
        cwd=CASES,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert ran.stderr == "a closed standard output, expected somewhere to print to; send it to /dev/null\n"
    assert not out.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["score", "refused/item-twice.md"],
        ["gate", "--baseline", "runs/a1/score.md", "--candidate", "refused/no-item.md"],
        ["gate", "--baseline", "runs/a1/score.md", "--candidate", "runs/a1/score.md", "--candidate-m", "2"],
        ["intel-off", "--profile", "nobody"],
    ],
    ids=["score", "gate", "m", "intel-off"],
)
def test_an_older_result_stays_as_it_is_on_exit_2(arguments, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(CASES)
    out = tmp_path / "out.json"
    out.write_text("kept")
    os.utime(out, (1, 1))
    assert soclab(capsys, *arguments, "--json", out).status == 2
    assert (out.read_text(), out.stat().st_mtime, list(tmp_path.iterdir())) == ("kept", 1, [out])
