"""Score pages as people write them: no item is lost without a word, every stated total is checked."""

from __future__ import annotations

import random
import re

import pytest

from pytest_soclab.base.errors import KnownAnswerError
from pytest_soclab.known_answer.basis.keys import LabelError, item_keys

from .support import CASES, read, run_path, score, soclab, words, write

PAGES = CASES / "pages"
ONE = "| # | Score |\n|---|---|\n| K1.1 family | found |\n"
TWO = f"{ONE}| K1.2 link | missed |\n"


def page(name, capsys):
    folder = PAGES / name
    if (folder / "base.md").exists():
        return soclab(capsys, "gate", "--baseline", folder / "base.md", "--candidate", folder / "cand.md")
    return soclab(capsys, "score", folder / "score.md")


def refused(tmp_path, text):
    with pytest.raises(KnownAnswerError) as caught:
        read(tmp_path, text)
    return str(caught.value).replace(f"{tmp_path}/", "")


@pytest.mark.parametrize(
    ("name", "status", "texts"),
    [
        ("01-two-codes-one-label", 1, ["K5.3  found 1 of 1 → missed 1 of 1", "base.md:4", "cand.md:5"]),
        ("02-items-in-bullets", 2, ["base.md:15: a line that is not read as an item", "cand.md:15", "says 2 items"]),
        ("03-totals-heading", 0, ["1 found"]),
        ("04-unequal-halves", 2, ["base.md:10: a second table that scores 1 items", "cand.md:10"]),
        ("05-notes-column", 0, ["2 found"]),
        ("08-legend-table", 0, ["credited 1 of 1", "the table on line 3 explains words"]),
        ("10-one-cell-a-run", 2, ["score.md:3: item 'K1.1b loader'", "score.md:4:", "score.md:5:", "column 'Score'"]),
        (
            "11-totals-never-read",
            2,
            ["score.md:5: the row 'All core' says 2 found", "score.md:7: the Totals line"],
        ),
        ("12-total-singular", 2, ["score.md:1: the Totals line says 9 found, the item table holds 1"]),
    ],
)
def test_a_page_of_the_cases(name, status, texts, capsys):
    ran = page(name, capsys)
    assert ran.status == status
    for text in texts:
        assert text in ran.out + ran.err
    if name == "10-one-cell-a-run":
        assert ran.err.count("\n") == 3


def test_every_page_of_the_cases_is_tried():
    (mark,) = test_a_page_of_the_cases.pytestmark
    assert {path.name for path in PAGES.iterdir()} == {case[0] for case in mark.args[1]}


# Labels with several codes


@pytest.mark.parametrize(
    ("label", "keys"),
    [
        ("K2.6 / K5.3 update file", ("K2.6", "K5.3")),
        ("K2.6/K5.3", ("K2.6", "K5.3")),
        ("K2.6, K5.3 and K6.1 x", ("K2.6", "K5.3", "K6.1")),
        ("K3.1–K3.3 checks", ("K3.1", "K3.2", "K3.3")),
        ("K3.1 - K3.3", ("K3.1", "K3.2", "K3.3")),
        ("K7 2 + K7 4", ("K7 2", "K7 4")),
        ("K10 T1027 / K10 T1055", ("K10 T1027", "K10 T1055")),
        ("K3.2 process count 75/50", ("K3.2",)),
        ("K3.2 – 5 servers", ("K3.2",)),
        ("\uff2b3.2 full width", ("K3.2",)),
        ("K3.2\u200b zero width", ("K3.2",)),
        ("own\u00a0 Hashes", ("own hashes",)),
    ],
)
def test_a_label_names_its_items(label, keys):
    assert item_keys(label) == keys


@pytest.mark.parametrize("label", ["K7 2/3 links", "K3.1-3", "K1.1a/b", "K7 2, 3", "K10 T1027 / T1055", "K3.3–K3.1"])
def test_a_label_that_shortens_a_code_is_refused(label, tmp_path):
    with pytest.raises(LabelError):
        item_keys(label)
    assert "score.md:7: the label" in refused(tmp_path, score({label: "found"}))


def test_a_code_inside_a_label_has_its_item_or_is_named(tmp_path):
    assert "the code K5.3 in a label" in refused(tmp_path, score({"K2.6 update file (also K5.3)": "found"}))
    both = {"K2.6 update file (see K5.3)": "found", "K5.3 it": "missed"}
    assert words(read(tmp_path, score(both))) == {"K2.6": "found", "K5.3": "missed"}


def test_anchors_and_links_in_labels_are_text(tmp_path):
    text = score({'<a id="k11"></a>K1.1 family': "found", "[K1.2](#k12) link": "<b>missed</b>"})
    assert words(read(tmp_path, text)) == {"K1.1": "found", "K1.2": "missed"}


# Items outside tables

LOST = {
    "bullet": "- K8 discovery: missed",
    "bold bullet": "* **K8 discovery: missed.** section 5 lists them",
    "dash": "- K8 discovery – missed",
    "in brackets": "- K8 discovery (missed)",
    "mark": "- [ ] K8 discovery",
    "emoji": "- ❌ K8 discovery",
    "number": "1. K8 discovery: missed",
    "verdict first": "- Missed: K8 discovery",
    "no code": "- own hashes: missed",
    "paragraph": "K8 discovery: missed",
    "columns": "K8 discovery        missed",
    "definition": "K8 discovery\n: missed, not in the text",
    "heading": "### K8 discovery: missed",
    "heading and verdict": "### K8 discovery\n\n**Verdict:** missed",
    "html": "<table>\n<tr><td>K8 discovery</td><td>missed</td></tr>\n</table>",
    "html without code": "<table><tr><td>own hashes</td><td>missed</td></tr></table>",
    "html list": "<ul>\n<li>K8 discovery: missed</li>\n</ul>",
    "html definition": "<dl><dt>K8 discovery</dt><dd>missed</dd></dl>",
    "fence": "```\n| K8 discovery | missed |\n```",
    "fence with colons": "```text\nK8 discovery: missed\n```",
    "code": "    K8 discovery: missed",
    "quotation": "> K8 discovery: missed",
}


@pytest.mark.parametrize("name", LOST)
@pytest.mark.parametrize("heading", ["## Item by item\n\n", ""], ids=["under the heading", "without"])
def test_an_item_outside_the_table_is_named(name, heading, tmp_path, capsys):
    if not heading and name in {"no code", "html without code", "heading and verdict"}:
        heading = "# Item by item\n\n"
    text = f"{heading}{TWO}\n{LOST[name]}\n"
    line = 1 + text.split(LOST[name].split("\n", maxsplit=1)[0], maxsplit=1)[0].count("\n")
    message = refused(tmp_path, text)
    assert "not read as an item" in message
    assert abs(int(message.split(":")[1]) - line) <= 2
    path = write(tmp_path, text)
    ran = soclab(capsys, "score", path, "--allow-unread")
    assert ran.status == 0
    assert "not read as an item" in ran.out


@pytest.mark.parametrize(
    "text",
    [
        "- K1.1: the report says so on page 3",
        "- K1 was hard to score",
        "- K1: 1 found / 1 missed",
        "K1.1 was found on the first page.",
        "- found: the report states it\n- missed: it does not",
        "Scoring words: found, partly, missed, wrong.",
        "<!-- - K8 discovery: missed -->",
        "<details>\n<summary>K1 notes</summary>\n\nText.\n\n</details>",
        "## Claims the report dropped\n\n- K9.1 claim: wrong",
    ],
)
def test_what_is_no_item_stands_where_it_likes(text, tmp_path):
    assert words(read(tmp_path, f"## Item by item\n\n{TWO}\n{text}\n")) == {"K1.1": "found", "K1.2": "missed"}


def test_a_line_of_two_items_of_which_one_is_scored_is_named(tmp_path):
    assert "score.md:6: a line that is not read as an item" in refused(tmp_path, f"{TWO}\n- K1.1 / K8.1 both: missed\n")


def test_items_without_codes_are_no_legend_for_each_having_another_word(tmp_path):
    text = "## Item by item\n\n| Topic | Verdict |\n|---|---|\n| own hashes | found |\n| mutex | missed |\n"
    assert words(read(tmp_path, text)) == {"own hashes": "found", "mutex": "missed"}


def test_a_sibling_section_of_items_is_named(tmp_path):
    text = f"## Item by item\n\n{ONE}\n## K7 links\n\n| # | Score |\n|---|---|\n| K7 2 | missed |\n"
    assert "score.md:9: a table that is not read as an item" in refused(tmp_path, text)


def test_a_table_that_may_be_a_legend_or_items_is_refused(tmp_path):
    unclear = "| String | Score |\n|---|---|\n| hashes | found |\n| mutex | missed |\n"
    assert "may hold items or explain words" in refused(tmp_path, f"## Item by item\n\n{unclear}\n{ONE}")
    headed = unclear.replace("String", "Item")
    assert len(read(tmp_path, f"## Item by item\n\n{headed}\n{ONE}").items) == 3


# Columns


@pytest.mark.parametrize("cells", ["✓ ✗", "yes no", "pass fail", "1 0", "✅ ❌", "0.5 1", "seen unseen", "3/5 4/5"])
def test_a_column_that_scores_in_other_words_is_not_passed_over(cells, tmp_path):
    one, two = cells.split()
    text = f"| # | run9 | haiku4 |\n|---|---|---|\n| K1.1 | {one} | found |\n| K1.2 | {two} | found |\n"
    message = refused(tmp_path, text)
    assert "the column 2 ('run9') scores in other words, before the column 3 ('haiku4')" in message


@pytest.mark.parametrize("cell", ["✅ found", "found ✔", "🟢 found"])
def test_a_marked_word_is_not_passed_over(cell, tmp_path):
    text = f"| # | run9 | haiku4 |\n|---|---|---|\n| K1.1 | {cell} | missed |\n| K1.2 | {cell} | missed |\n"
    assert "in the column 'run9'" in refused(tmp_path, text)


@pytest.mark.parametrize("head", ["Notes", "Remark", "Comment", "Evidence", "Why", "Reason"])
def test_a_column_of_remarks_is_no_verdict_column(head, tmp_path):
    text = f"| # | {head} | run |\n|---|---|---|\n| K1.1 | found | missed |\n| K1.2 | | found |\n"
    assert words(read(tmp_path, text)) == {"K1.1": "missed", "K1.2": "found"}


def test_a_column_of_descriptions_stands_before_the_verdicts(tmp_path):
    text = "| # | Weight | Key fact | run |\n|---|---|---|---|\n| K1.1 | 3 | no arch check | missed |\n"
    assert words(read(tmp_path, text)) == {"K1.1": "missed"}


def test_all_faults_are_named_at_once(tmp_path):
    rows = [("K1.1", "fond"), ("K1.2", "found"), ("K1.2", "missed"), ("", "found"), ("K1.4", "misst")]
    message = refused(tmp_path, "**Totals:** plenty\n" + score(rows, after="- K8 x: found"))
    assert [int(line.split(":")[1]) for line in message.splitlines()] == [1, 8, 10, 11, 12, 14]


# Totals


@pytest.mark.parametrize(
    "line",
    [
        "Totals for run8: 9 found / 1 missed",
        "Totals (run8): 9 found / 1 missed",
        "**Total:** 9 found, 1 missed",
        "Total: 9 found / 1 missed",
        "**9 found / 0 partly / 1 missed / 0 wrong**",
        "Result: 9 found, 1 missed",
        "run8: 9 found / 1 missed",
        "Overall: 9 found and 1 missed",
        "In total, 9 found / 1 missed",
        "Totals: found 9, missed 1",
        "## 9 found / 1 missed",
        "| Group | Found | Missed |\n|---|---|---|\n| All | 9 | 1 |",
        "| Group | Found | Missed |\n|---|---|---|\n| K1 Family | 9 | 1 |",
        "| Run | Found | Missed |\n|---|---|---|\n| run8 | 9 | 1 |\n| run7 | 3 | 3 |",
        "| Verdict | Count |\n|---|---|\n| found | 9 |\n| missed | 1 |",
        "| Verdict | run8 | run7 |\n|---|---|---|\n| found | 9 | 5 |\n| missed | 1 | 5 |",
        "Totals for K1: 9 found / 1 missed",
    ],
)
def test_a_wrong_total_is_refused_with_both_numbers(line, tmp_path):
    table = "| # | run8 | run7 |\n|---|---|---|\n| K1.1 | found | found |\n| K1.2 | missed | found |\n"
    text = f"# Score: run8\n\n{line}\n\n## Item by item\n\n{table}"
    message = refused(tmp_path, text)
    assert "says 9 found, the item table holds 1" in message
    assert words(read(tmp_path, text.replace("9", "1"))) == {"K1.1": "found", "K1.2": "missed"}


@pytest.mark.parametrize(
    "line",
    [
        "Credited 9 of 2.",
        "**Credited: 9 of 2**",
        "Overall, 9 of 2 items were credited.",
        "Result: 9/2 credited",
        "9 out of 2 found",
        "Found: 9 of 2 facts",
        "## 9 of 2 credited",
    ],
)
def test_a_share_that_is_stated_alone_is_checked(line, tmp_path):
    table = score({"K1.1": "found", "K1.2": "missed"}, line)
    assert re.search(r"line|sentence", message := refused(tmp_path, table))
    assert "says 9 found" in message or "credited 9 of 2, the item table gives credited 1 of 2" in message
    assert read(tmp_path, table.replace("9", "1")).totals_checked


def test_a_share_in_other_words_is_named_by_line(tmp_path):
    line = "Of the earlier run 9 of 12 were credited by hand."
    assert read(tmp_path, score({"K1.1": "found"}, line)).notes == (f"line 1: totals that are not checked: '{line}'",)


def test_partly_in_four_columns_means_both_kinds(tmp_path):
    items = {"K1.1": "found", "K1.2": "partly", "K1.3": "partly (dump)", "K1.4": "missed"}
    assert read(tmp_path, score(items, "**1 found / 2 partly / 1 missed / 0 wrong**")).totals_checked
    assert "says 1 partly, the item table holds 2" in refused(tmp_path, score(items, "1 found / 1 partly / 1 missed"))


def test_what_is_no_readable_total_is_named_by_line(tmp_path):
    found = read(tmp_path, score({"K1.1": "found"}, "About 9 found and perhaps 3 missed, so far."))
    assert found.notes == ("line 1: totals that are not checked: 'About 9 found and perhaps 3 missed, so far.'",)
    assert not found.totals_checked


def test_totals_of_a_group_stand_in_its_section(tmp_path):
    text = f"## Item by item\n\n### K1 family\n\n9 found / 1 missed\n\n{TWO}"
    assert "of K1 says 9 found" in refused(tmp_path, text)


# Runs


def test_runs_of_one_name_are_named_by_path(capsys, tmp_path):
    one, two = write(tmp_path / "r", TWO, "one.md"), write(tmp_path / "r", f"{TWO}\nSecond.\n", "two.md")
    ran = soclab(capsys, "score", one, two, out=tmp_path / "o.json")
    assert [run["name"] for run in ran.result["runs"]] == [one, two]


def test_a_copied_score_is_no_second_run(capsys, tmp_path):
    one, two = write(tmp_path / "a", TWO), write(tmp_path / "b", TWO)
    ran = soclab(capsys, "gate", "--baseline", one, two, "--candidate", run_path("a1"))
    assert ran.status == 2
    assert f"{two} baseline: a copy of {one}, byte for byte" in ran.err


def test_expected_items(capsys, tmp_path):
    path = write(tmp_path, f"{TWO}| K1.3 | unknown |\n")
    assert soclab(capsys, "score", path, "--expect-items", 2).status == 0
    ran = soclab(capsys, "score", path, "--expect-items", 3)
    assert (ran.status, "2 items scored and 1 unknown" in ran.err) == (2, True)
    listed = write(tmp_path, "# the key\nK1.1 family\nK1.2\n", "items.txt")
    assert soclab(capsys, "score", path, "--items", listed).status == 0
    other = write(tmp_path, '["K1.1", "K2.9"]', "items.json")
    ran = soclab(capsys, "score", path, "--items", other)
    assert (ran.status, "lacks K2.9; has too K1.2" in ran.err) == (2, True)


def test_own_words_in_a_page(capsys, tmp_path):
    text = "| # | run9 |\n|---|---|\n| K1.1 | ✅ |\n| K1.2 | ❌ |\n"
    own = write(tmp_path, "# words\n✅: found\n❌: missed\n", "words.txt")
    ran = soclab(capsys, "score", write(tmp_path, text), "--words", own, out=tmp_path / "o.json")
    assert ran.result["runs"][0]["verdicts"] == {"K1.1": "found", "K1.2": "missed"}
    bad = write(tmp_path, "✅: great\n", "bad.txt")
    assert soclab(capsys, "score", write(tmp_path, text), "--words", bad).status == 2


def test_markdown_for_a_pull_request(capsys, tmp_path, monkeypatch):
    hostile = r"K9 <img src=x> @all \| `x` [y](http://z)"
    write(tmp_path / "a", score({hostile: "found", "K1.1": "found"}))
    write(tmp_path / "b", score({hostile: "missed", "K1.1": "missed"}))
    monkeypatch.chdir(tmp_path)
    out = soclab(capsys, "gate", "--baseline", "a/score.md", "--candidate", "b/score.md", "--markdown").out
    assert out.startswith("### Known-answer gate: dropped\n")
    assert "| K1.1 | found 1 of 1 | missed 1 of 1 | a/score.md:8; b/score.md:8 |" in out
    for active in ("<img", "@all", "http://", "`", " | x"):
        assert active not in out


# Edits


def edited(text, rng):
    """Return a valid file with one to three small edits, as of a slip of the hand."""
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(text))
        to = min(len(text), at + rng.randint(1, 40))
        piece = text[at:to]
        change = rng.choice(
            ["", piece * 2, piece.upper(), "\n", "|", "\n\n", "```\n", "<!--", "-", "# ", "\u200b", "`"]
        )
        text = text[:at] + change + text[to if rng.random() < 0.7 else at :]
    return text


@pytest.mark.parametrize("part", range(6))
def test_generated_edits_are_read_or_refused(part, capsys, tmp_path):
    rng = random.Random(part)
    sources = [(CASES / "runs" / name / "score.md").read_text() for name in ("run7", "haiku4", "a1", "b2")]
    statuses = set()
    for number in range(50):
        path = write(tmp_path / str(number), edited(rng.choice(sources), rng))
        ran = soclab(capsys, "gate", "--baseline", run_path("run7"), "--candidate", path)
        statuses.add(ran.status)
        assert ran.status in {0, 1, 2}
        assert "Traceback" not in ran.err
        assert (ran.status == 2) == bool(ran.err)
    assert 2 in statuses
