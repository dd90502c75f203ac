"""The key score reader: which table, which column, which words, and the file against its own sentences."""

from __future__ import annotations

import pytest

from pytest_soclab.base.errors import KnownAnswerError
from pytest_soclab.known_answer.basis.keys import item_key, technique_of
from pytest_soclab.known_answer.markdown import blocks

from .support import CASES, read, score, table, words, write

LINES = "| Item | Verdict |\n|---|---|\n| K1.1 a | found |\n| K1.2 b | missed |\n"
BOTH = {"K1.1": "found", "K1.2": "missed"}


def refused(tmp_path, text):
    with pytest.raises(KnownAnswerError) as caught:
        read(tmp_path, text)
    return str(caught.value).replace(f"{tmp_path}/", "")


# Words


@pytest.mark.parametrize(
    ("cell", "word"),
    [
        ("found", "found"),
        ("FOUND", "found"),
        ("**Found**", "found"),
        ("*found*", "found"),
        ("__found__", "found"),
        ("_found_", "found"),
        ("***found***", "found"),
        ("`found`", "found"),
        ("**`Partly (Body)`**", "partly (body)"),
        ("**partly** (body)", "partly (body)"),
        ("partly", "partly (body)"),
        ("partly  (dump)", "partly (dump)"),
        ("partly (appendix)", "partly (dump)"),
        ("Missed", "missed"),
        ("wrong", "wrong"),
        ("unknown", "unknown"),
        ("[found](#k1)", "found"),
        ("[found][note]", "found"),
        ("found <!-- sure? -->", "found"),
        ("&nbsp;found\u00a0", "found"),
        ("found<br>", "found"),
    ],
)
def test_a_verdict_word_in_its_spellings(cell, word, tmp_path):
    text = score({"K1.1": "found", "K1.2": cell}, after="\n[note]: https://example.org\n")
    assert words(read(tmp_path, text))["K1.2"] == word


@pytest.mark.parametrize(
    "cell",
    [
        *(
            "",
            " ",
            "found[^1]",
            "found¹",
            "found*",
            r"found\*",
            "found.",
            "found?",
            "found (see note)",
            "missed, I think",
        ),
        *("partly (both)", "partly(body)", "~~found~~", "~~found~~ missed", "found / missed", "n/a", "-", "yes"),
        *(
            "![found](x.png)",
            "found<sup>1</sup>",
            "not found",
            "found found",
            "<!-- found -->",
            "f o u n d",
            "unknown?",
        ),
    ],
)
def test_a_cell_that_is_no_verdict_word_is_refused_not_guessed(cell, tmp_path):
    message = refused(tmp_path, score({"K1.1 a": "found", "K1.2 b": cell}, after="\n[^1]: a footnote\n"))
    assert message.startswith("score.md:8: item 'K1.2 b' has the verdict")
    assert "expected one of found, partly (body)" in message


# Columns


def test_the_first_verdict_column_is_the_run_s_whatever_its_header(tmp_path):
    text = (
        "## Item by item\n\n| # | Key fact | run9 | haiku4 |\n|-|-|-|-|\n| K1.1 | wrong arch check | missed | found |\n"
    )
    assert words(read(tmp_path, text)) == {"K1.1": "missed"}


def test_a_later_verdict_column_is_never_read_in_place_of_the_first(tmp_path):
    text = "## Item by item\n\n| # | a | b |\n|-|-|-|\n| K1.1 | found | found |\n| K1.2 | seen | missed |\n"
    assert "'seen'" in refused(tmp_path, text)


@pytest.mark.parametrize("cell", ["found[^1]", "found (late)", "found, late", "missed?", "found with luck"])
def test_a_first_column_of_remarks_only_is_not_passed_over(cell, tmp_path):
    text = f"## Item by item\n\n| # | run7 | haiku4 |\n|-|-|-|\n| K1.1 | {cell} | found |\n| K1.2 | {cell} | found |\n"
    assert "K1.1" in refused(tmp_path, text)


def test_a_column_headed_verdict_is_the_verdict_column(tmp_path):
    text = "## Item by item\n\n| # | Verdict | haiku4 |\n|-|-|-|\n| K1.1 | yes | found |\n"
    assert "'yes'" in refused(tmp_path, text)


def test_an_item_table_without_verdicts_is_refused(tmp_path):
    text = f"## Item by item\n\n{LINES}\n\n### More\n\n| Item | Note |\n|-|-|\n| K2.1 | a note |\n"
    assert "score.md:11: the item table 'Item | Note' without a verdict column" in refused(tmp_path, text)


# Which table

TOTALS = "| Group | found | missed |\n|---|---|---|\n| K1 Family | 1 | 1 |\n| K2 | 0 | 0 |\n"
CLAIMS = "## Claims the report dropped\n\n| Item | Claim |\n|---|---|\n| K9.1 c | found |\n"


def test_other_tables_are_left_alone(tmp_path):
    legend = "| Word | Meaning |\n|---|---|\n| found | in the body |\n| missed | nowhere |\n"
    reverse = "## Reverse direction\n\n| Claim | Holds |\n|---|---|\n| K9 x | wrong |\n"
    text = f"{legend}\n{TOTALS}\n## Item by item\n\n{TOTALS}\n{legend}\n{LINES}\n{CLAIMS}\n{reverse}"
    assert words(read(tmp_path, text)) == BOTH


@pytest.mark.parametrize(
    "heading", ["## Item by item", "### ITEM BY ITEM, run 7", "## Item-by-item", "# *Item by item*"]
)
def test_the_heading_may_be_worded_a_little(heading, tmp_path):
    other = "| Item | Verdict |\n|---|---|\n" + "".join(f"| K8.{i} | wrong |\n" for i in range(9))
    assert words(read(tmp_path, f"## Other\n\n{other}\n{heading}\n\n{LINES}")) == BOTH


def test_a_setext_heading_is_a_heading(tmp_path):
    other = "| Item | Verdict |\n|---|---|\n" + "".join(f"| K8.{i} | wrong |\n" for i in range(9))
    text = f"{other}\nItem by item\n------------\n\n{LINES}\nClaims\n------\n\n{other}"
    assert words(read(tmp_path, text)) == BOTH


def test_a_table_split_in_groups_reads_as_one(tmp_path):
    text = (
        "## Item by item\n\n### K1 Family\n\n| Item | run7 | x |\n|-|-|-|\n| K1.1 a | found | wrong |\n\n"
        "### Indicators\n\n| Indicator | Type | run7 |\n|-|-|-|\n| K9 own hashes | sha256 | missed |\n\n"
        "#### Names\n\n| Name | run7 |\n|-|-|\n| mutex | partly |\n\n"
        "## Reverse\n\n| Item | V |\n|-|-|\n| K3.1 | found |\n"
    )
    expected = {"K1.1": "found", "k9 own hashes": "missed", "mutex": "partly (body)"}
    found = read(tmp_path, text)
    assert words(found) == expected
    assert found.notes == ("the table on line 23 is not read as items",)


def test_an_item_in_two_of_the_split_tables_is_refused(tmp_path):
    message = refused(tmp_path, f"## Item by item\n\n{LINES}\n### More\n\n{LINES}")
    assert message.startswith("score.md:12: item 'K1.1' twice, first on line 5")


def test_without_the_heading_the_table_with_most_labelled_rows_is_the_one(tmp_path):
    claims = "| Item | Claim |\n|---|---|\n| K9.1 c | found |\n"
    found = read(tmp_path, f"# Score\n\n{TOTALS}\n{claims}\n{LINES}\n{CLAIMS}")
    assert words(found) == BOTH
    assert len(found.notes) == 2


def test_the_largest_table_is_not_passed_over_for_one_that_reads_better(tmp_path):
    misspelt = "| Item | V |\n|---|---|\n| K1.1 | fuond |\n| K1.2 | mised |\n"
    assert "score.md:1: the item table" in refused(tmp_path, f"{misspelt}\n{CLAIMS}")


def test_without_the_heading_one_table_a_group_reads_as_one(tmp_path):
    groups = "".join(f"## K{g} group\n\n| Item | V |\n|-|-|\n| K{g}.1 | found |\n\n" for g in (1, 2, 3))
    assert words(read(tmp_path, groups + CLAIMS)) == {"K1.1": "found", "K2.1": "found", "K3.1": "found"}


@pytest.mark.parametrize(
    "inside", [LINES.replace("|\n", "|\n  ").replace("| It", "- | It", 1), "> " + LINES.replace("|\n", "|\n> ")]
)
def test_tables_in_lists_and_quotations_are_read(inside, tmp_path):
    assert words(read(tmp_path, f"## Item by item\n\n{inside}\n")) == BOTH


HIDDEN = "| Item | V |\n|-|-|\n| K7.1 | found |\n**Totals:** 9 found\n\n9 facts beyond the human reports"


def test_a_commented_out_table_is_no_table(tmp_path):
    assert words(read(tmp_path, f"## Item by item\n\n<!--\n{HIDDEN}\n-->\n\n{LINES}")) == BOTH


@pytest.mark.parametrize("hidden", ["```\n{}\n```\n", "~~~markdown\n{}\n~~~\n"])
def test_a_fenced_table_is_named_as_unread(hidden, tmp_path):
    message = refused(tmp_path, f"## Item by item\n\n{hidden.format(HIDDEN)}\n{LINES}")
    assert message.startswith("score.md:6: a line that is not read as an item: '| K7.1 | found |'")
    assert words(read(tmp_path, f"## Item by item\n\n{hidden.format(HIDDEN.replace('K7.1', 'K1.1'))}\n{LINES}")) == BOTH


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gap", LINES + "\n| K1.3 c | found |\n"),
        ("comment", LINES + "<!-- checked -->\n| K1.3 c | found |\n"),
        ("no head", LINES + "\n### More\n\n| K1.3 c | found |\n| K1.4 d | found |\n"),
        ("bad head", LINES + "\n| Item | Verdict | Note |\n|---|---|\n| K1.3 c | found | x |\n"),
        ("indented", LINES + "\nText.\n\n    | Item | V |\n    |-|-|\n    | K1.3 c | found |\n"),
        ("html", LINES + "\n<details>\n| Item | V |\n|-|-|\n| K1.3 c | found |\n</details>\n"),
        ("bare", LINES + "\nK1.3 c | found | x\n"),
    ],
)
def test_a_row_that_fell_out_of_its_table_is_refused(name, text, tmp_path):
    message = refused(tmp_path, f"## Item by item\n\n{text}")
    assert "K1.3 c" in message
    assert "stands in no table" in message
    line = 1 + f"## Item by item\n\n{text}".split("K1.3")[0].count("\n")
    assert message.startswith(f"score.md:{line}:")


# Cells


def test_escaped_pipes_code_spans_links_and_emphasis(tmp_path):
    rows = [
        (r"K1.1 a \| b", "found"),
        (r"K9 `a\|b`", "missed"),
        ("K9 [link](https://example.org/a) *x*", "found"),
        ("[K3.2](#k32) b", "wrong"),
        ("**K7 17** uninstall", "found"),
        ("`K4.1`", "found"),
        ("<!-- new --> K5.1", "found"),
        ("K9 <hex>.dll", "found"),
    ]
    expected = ["K1.1", "k9 a|b", "k9 link x", "K3.2", "K7 17", "K4.1", "K5.1", "k9 <hex>.dll"]
    assert list(words(read(tmp_path, score(rows)))) == expected


def test_ragged_rows(tmp_path):
    head = "## Item by item\n\n| # | V | Note |\n|-|-|-|\n"
    text = head + "| K1.1 | found\n| K1.2 | missed | x | more | cells |\nK1.3 | wrong\n"
    assert words(read(tmp_path, text)) == {"K1.1": "found", "K1.2": "missed", "K1.3": "wrong"}


HEAD = "## Item by item\n\n| # | V |\n|-|-|\n"
PAIRS = "## Item by item\n\n| # | V | # | V |\n|-|-|-|-|\n"


@pytest.mark.parametrize(("text", "words"), [
    (HEAD + "| K1.1 a | found | | K1.2 b | missed |\n", "score.md:5: a verdict in a row of 5 cells under a header"),
    (HEAD + "| K1.1 a | found | K1.2 b | missed |\n", "score.md:5: a verdict in a row of 4 cells"),
    (HEAD + "| K1.1 a | found | | **K1.2** b |\n", "score.md:5: an item label in a later cell"),
    (HEAD + "| K1.3 a | found |\n| port | found | | path | missed |\n", "score.md:6: a verdict in a row of 5 cells"),
    (PAIRS + "| K1.1 a | found | K1.2 b | missed |\n", "score.md:3: item labels in column 3 too"),
    (PAIRS + "| port | found | path | missed |\n", "score.md:3: item labels in column 3 too"),
    (PAIRS.replace("| #", "| Fact") + "| K1.1 a | found | `K1.2` b | |\n", "score.md:5: an item label in a later cell"),
])  # fmt: skip
def test_an_item_in_a_later_cell_is_not_passed_over(tmp_path, text, words):
    assert words in refused(tmp_path, text)


def test_a_later_cell_may_speak_of_an_item_that_is_scored(tmp_path):
    head = "## Item by item\n\n| # | V | Note |\n|-|-|-|\n"
    text = head + "| K1.1 a | found | K1.2 says so |\n| K1.2 b | missed | see K9.9 |\n"
    assert len(read(tmp_path, text).items) == 2


def test_a_row_without_its_verdict_cell_is_refused(tmp_path):
    text = "## Item by item\n\n| # | V | Note |\n|-|-|-|\n| K1.1 | found | x |\n| K1.2 |\n"
    assert "item 'K1.2' has the verdict ''" in refused(tmp_path, text)


def test_an_unescaped_pipe_that_shifts_the_cells_is_refused(tmp_path):
    assert "'b'" in refused(tmp_path, score([("K1.1 a|b", "found"), ("K1.2", "found")]))


def test_a_row_without_a_label_is_refused(tmp_path):
    assert "without an item label" in refused(tmp_path, score([("K1.1", "found"), ("", "found")]))


@pytest.mark.parametrize("change", [lambda text: text.replace("\n", "\r\n"), lambda text: text.replace("\n", "\r")])
def test_other_line_ends_and_a_byte_order_mark(change, tmp_path):
    text = change(score({"K1.1 a": "found", "K1.2 b": "odd"}))
    assert refused(tmp_path, b"\xef\xbb\xbf" + text.encode()).startswith("score.md:8:")
    good = change(score({"K1.1 a": "found", "K1.2 b": "missed"}, "**Totals:** 1 found / 1 missed"))
    assert read(tmp_path, b"\xef\xbb\xbf" + good.encode()).totals_checked


def test_trailing_and_no_break_spaces(tmp_path):
    text = "## Item\u00a0by item  \n\n| # | V |  \n|---|---|\t\n| K7\u00a017\u00a0x |\u00a0found\u00a0|   \n"
    assert words(read(tmp_path, text)) == {"K7 17": "found"}


# Keys


@pytest.mark.parametrize(
    ("label", "key"),
    [
        ("K3.2 process count 75/50", "K3.2"),
        ("K1.1a family", "K1.1a"),
        ("k1.1A family", "K1.1a"),
        ("K7 17 uninstall", "K7 17"),
        ("K7.17 uninstall", "K7.17"),
        ("K7  17", "K7 17"),
        ("K7\u00a017 x", "K7 17"),
        ("K10 T1027", "K10 T1027"),
        ("k10 t1053.005 task", "K10 T1053.005"),
        ("K3.2: colon", "K3.2"),
        ("K3.2, comma", "K3.2"),
        ("K3.2. Stop", "K3.2"),
        ("see K3.2", "see k3.2"),
        ("K9 own  hashes", "k9 own hashes"),
        ("K9 /live/", "k9/live/"),
        ("a / b", "a/b"),
        ("A /b", "a/b"),
        ("task Updater", "task updater"),
        ("taskUpdater", "taskupdater"),
        ("K8", "k8"),
        ("K3.2x64", "k3.2x64"),
        ("K7 17th", "k7 17th"),
        ("AK3.2", "ak3.2"),
        ("STRASSE", "strasse"),
    ],
)
def test_item_keys(label, key):
    assert item_key(label) == key


def test_techniques():
    assert technique_of("K10 T1053.005") == "T1053.005"
    assert technique_of("K10 T1027") == "T1027"
    assert technique_of("K1.1") is technique_of("t1027 x") is technique_of("k10 t10279") is None


def test_one_item_in_two_wordings_is_twice(tmp_path):
    message = refused(tmp_path, score([("K7 17 uninstall", "found"), ("x", "found"), ("K7 17 other", "missed")]))
    assert message.startswith("score.md:9: item 'K7 17' twice, first on line 7")


# Totals

ITEMS = {"K1.1": "found", "K1.2": "found", "K1.3": "partly", "K1.4": "partly (dump)", "K1.5": "missed", "K1.6": "wrong"}
LINE = "**Totals:** 2 found / 1 partly (body) / 1 partly (dump) / 1 missed / 1 wrong; credited 4 of 6"


@pytest.mark.parametrize(
    "line",
    [
        LINE,
        LINE + ".",
        "Totals: 1 wrong / 1 missed / 1 partly (dump) / 2 found / 1 partly (body)",
        "**Totals**: 2 found, 1 partly, 1 partly (appendix), 1 missed, 1 wrong",
        "**Totals:** 2 found / 1 partly (body)\n/ 1 partly (dump) / 1 missed / 1 wrong; credited 4 of 6",
        "**Totals:** 2 found / 1 partly (body) /\n1 partly (dump) / 1 missed /\n1 wrong;\ncredited 4 of 6",
        "- **Totals:** 2 found / 1 partly (body)\n  / 1 partly (dump) / 1 missed / 1 wrong",
        "1. first\n2. **Totals:** 2 found / 1 partly (body) /\n   1 partly (dump) / 1 missed / 1 wrong",
        "> **Totals:** 2 found / 1 partly (body) / 1 partly (dump)\n> / 1 missed / 1 wrong",
        "Scored twice.\n**Totals:** 2 found / 1 partly (body) / 1 partly (dump) / 1 missed / 1 wrong\nBy hand.",
        "**Totals: 2 found / 1 partly (body) / 1 partly (dump) / 1 missed / 1 wrong**",
        "**TOTALS:** 2 Found / 1 Partly (Body) / 1 partly (dump) / 1 missed / 1 wrong / 0 unknown",
        "**Totals:** **2** found / *1* partly (body) / 1 `partly (dump)` / 1 missed / 1 wrong",
    ],
)
def test_a_totals_line_in_its_forms(line, tmp_path):
    assert read(tmp_path, score(ITEMS, line)).totals_checked


def test_a_missing_word_is_zero(tmp_path):
    assert read(tmp_path, score({"K1.1": "found"}, "**Totals:** 1 found")).totals_checked
    message = refused(tmp_path, score({"K1.1": "found", "K1.2": "missed"}, "**Totals:** 1 found"))
    assert message.startswith("score.md:1: the Totals line says 0 missed, the item table holds 1")


def test_every_disagreement_is_named(tmp_path):
    message = refused(tmp_path, score({"K1.1": "found"}, "x\n\n**Totals:** 2 found / 1 wrong; credited 2 of 3"))
    assert message.splitlines() == [
        "score.md:3: the Totals line says 2 found, the item table holds 1; correct the line or the table",
        "score.md:3: the Totals line says 1 wrong, the item table holds 0; correct the line or the table",
        "score.md:3: the Totals line says credited 2 of 3, the item table gives credited 1 of 1;"
        " correct the line or the table",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "**Totals:**",
        "**Totals:** all found",
        "**Totals:** 2 found / some missed",
        "**Totals:** 2 found / 1 partly (body) / 1 partly (dump) / 1 missed / 1 wrong / 1 odd",
        "**Totals:** 2 found / 2 found",
        "**Totals:** 2 found /",
        "**Totals:** 2 found;",
        "**Totals:** two found",
        "**Totals:** 2.5 found",
        "**Totals:** -2 found",
        "**Totals:** 2 found (about)",
        "**Totals:** 2 found; credited 2",
        "**Totals:** 2 found; credited 2 of 2; credited 2 of 2",
        "**Totals:** 2 found\n/ and more",
        "**Totals:** credited 2 of 2",
        "**Totals:**\n\n- 2 found",
    ],
)
def test_a_totals_line_that_cannot_be_read_is_refused(line, tmp_path):
    message = refused(tmp_path, score({"K1.1": "found", "K1.2": "found"}, f"Intro.\n\n{line}"))
    assert message.startswith("score.md:3: a Totals line that cannot be read")


@pytest.mark.parametrize(
    "text", ["Totals are below.", "## Totals", "The grand totals: 5", "<!-- **Totals:** 5 found -->"]
)
def test_other_sentences_about_totals_are_not_the_line(text, tmp_path):
    assert not read(tmp_path, score({"K1.1": "found"}, text)).totals_checked


# Beyond the human reports


def beyond(count, listed, sentence="{} facts more than the human analyst", heading="## Beyond the human reports"):
    items = "".join(f"{i}. A fact that\n   wraps, and\nwraps again.\n" for i in range(1, listed + 1))
    return score({"K1.1": "found"}, after=f"\n{heading}\n\n{items}\n{sentence.format(count)}\n")


@pytest.mark.parametrize(
    "sentence",
    [
        "{} facts more than the human analyst",
        "**{} facts more than the human analyst.**",
        "**{}** facts beyond the human reports",
        "In all {} facts beyond\nthe human reports were found.",
        "- {} facts beyond the human reports",
        "{} facts beyond.",
    ],
)
def test_the_beyond_human_count_against_its_list(sentence, tmp_path):
    assert read(tmp_path, beyond(27, 27, sentence)).beyond == 27
    message = refused(tmp_path, beyond(27, 26, sentence))
    assert "27 facts" in message
    assert "holds 26" in message
    assert "no numbered list" in refused(tmp_path, beyond(27, 0, sentence))


def test_the_count_may_stand_above_and_the_list_under_the_heading_that_names_them(tmp_path):
    text = "# Score\n\n2 facts beyond the human reports\n\n1. step\n2. step\n3. step\n\n" + score(
        {"K1.1": "found"},
        after="\n## Facts beyond the human reports\n\n1. x\n\ntext\n\n2. y\n   1. nested\n   2. nested\n",
    )
    assert read(tmp_path, text).beyond == 2


def test_the_list_in_subsections_counts_as_one(tmp_path):
    text = beyond(3, 0).replace("3 facts", "### Network\n\n1. x\n2. y\n\n### Host\n\n1) z\n\n3 facts")
    assert read(tmp_path, text).beyond == 3


def test_a_list_of_its_own_section_without_a_naming_heading(tmp_path):
    assert read(tmp_path, beyond(3, 3, heading="## New facts")).beyond == 3
    assert "no numbered list" in refused(
        tmp_path, beyond(3, 0, heading="## New facts") + "\n## Else\n\n1. x\n2. y\n3. z\n"
    )


def test_one_fact_none_and_no_statement(tmp_path):
    assert read(tmp_path, beyond(1, 1, "{} fact more than the human analyst")).beyond == 1
    assert read(tmp_path, beyond(0, 0)).beyond == 0
    assert "holds 2" in refused(tmp_path, beyond(0, 2))
    assert read(tmp_path, beyond(9, 9, "None stated.")).beyond is None
    assert "8 facts" in refused(tmp_path, beyond(9, 9) + "\n8 facts beyond the human reports\n")


def test_the_count_in_the_heading_itself(tmp_path):
    assert read(tmp_path, beyond(2, 2, "", "## 2 facts more than the human analyst")).beyond == 2


# Files


def test_paths_that_are_no_file(tmp_path, capsys):
    from .support import soclab

    latin = write(tmp_path, score({"K1.1 é": "found"}).encode("latin-1"), "latin.md")
    for path, text in [
        (str(tmp_path), "a directory"),
        (str(tmp_path / "missing.md"), "No such file"),
        (latin, "latin.md:7: byte 0xe9, which is not UTF-8"),
        (write(tmp_path, "", "empty.md"), "no item table"),
        (write(tmp_path, "x", "sheet.csv"), "expected blind:NAME with --sheet CSV --map JSON"),
        ("a\0b.md", r"a\x00b.md"),
    ]:
        ran = soclab(capsys, "score", path)
        assert (ran.status, ran.out) == (2, "")
        assert text in ran.err
        assert ran.err.count("\n") == 1


def test_a_file_larger_than_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("pytest_soclab.known_answer.basis.files.LARGEST", 1000)
    assert "more than 1000 bytes" in refused(tmp_path, score({"K1.1": "found"}, "x" * 1000))


def test_a_table_of_many_windows_reads_whole(tmp_path):
    rows = {f"K{i // 100}.{i % 100} some label of a fact": "found" if i % 3 else "missed" for i in range(5000)}
    text = score(rows, "**Totals:** 3333 found / 1667 missed") + "".join(f"{i}. fact\n" for i in range(1, 9001))
    text = text.replace("1. fact\n", "## Beyond\n\n9000 facts beyond the human reports\n\n1. fact\n", 1)
    found = read(tmp_path, text)
    assert len(found.items) == 5000
    assert found.beyond == 9000
    lines = text.split("\n")
    assert all(f"| {key} some" in lines[item.line - 1] for key, item in found.items.items())


MANY_BLOCKS = (
    "# Score\n\nIntro that\nwraps.\n\n**Totals:** 3 found /\n1 missed\n\n"
    "> A quotation\n> | a | b |\n> |---|---|\n> | c | d |\n\n- a list\n\n  with text\n\n  - nested\n- more\n\n"
    "```\n| K9.9 | found |\n\n## Item by item\n```\n\n"
    "<!--\n| K9.9 | found |\n\n9 facts beyond the human reports\n-->\n\n"
    f"## Item by item\n\n{LINES}| K1.3 c | found |\n| K1.4 d | found |\n\nSetext\n---\n\n    | code | x |\n\n"
    "Beyond them\n-----------\n\n1. one\n   wraps\n2. two\n\n   loose\n\n3. three\n   1. nested\n   2. nested\n"
    "4. four\n\n4 facts more than the human analyst\n\n| Item | Text |\n|---|---|\n| K2.1 | x |\n\nEnd\n"
)


@pytest.mark.parametrize("window", [1, 2, 7, 30, 60, 100, 150, 250, 400])
def test_the_size_of_the_windows_changes_nothing(window, tmp_path, monkeypatch):
    for source in (MANY_BLOCKS, *(path.read_text() for path in sorted(CASES.glob("runs/*/score.md")))):
        monkeypatch.undo()
        expected = read(tmp_path, source)
        monkeypatch.setattr(blocks, "WINDOW", window)
        monkeypatch.setattr(blocks, "LONG_PARAGRAPH", 10**9)
        assert read(tmp_path, source) == expected


def test_a_table_right_below_a_paragraph_that_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "WINDOW", 10)
    monkeypatch.setattr(blocks, "LONG_PARAGRAPH", 1)
    for words_before in range(20):
        text = "## Item by item\n\n" + "word\n" * words_before + LINES
        assert words(read(tmp_path, text)) == BOTH


def test_what_follows_a_long_table_is_no_row_of_it(tmp_path):
    rows = {f"K{i // 100}.{i % 100} some label of a fact": "found" for i in range(3000)}
    text = score(rows) + "\n" + "Prose of the file that goes on.\n\n" * 5000 + CLAIMS
    assert len(read(tmp_path, text).items) == 3000
    assert "has the verdict ''" in refused(tmp_path, table(rows) + "Prose right below the table.\n")
