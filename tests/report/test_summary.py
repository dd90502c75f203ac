"""The job summary, rendered as GitHub would: verdict first, capped, nothing hostile gets through."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from pytest_soclab.evidence.results import Arm, Level, Results
from pytest_soclab.report import summary

from . import build, hostile

GFM = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def tokens(text: str) -> list[str]:
    """Return the types of everything that a GitHub-like reader would make of the text."""
    found = []
    for block in GFM.parse(text):
        found.append(block.type)
        found += [child.type for child in block.children or ()]
    return found


def prose(text: str) -> list[str]:
    """Return the text that a mention or issue-reference filter would look at: everything outside code."""
    return [child.content for block in GFM.parse(text) for child in block.children or () if child.type == "text"]


def test_verdict_stands_first(red: Results) -> None:
    assert summary.render(red).startswith("## ❌ L4 failed: the controls support only L1, observe\n")
    assert summary.render(build.results()).startswith(
        "## ⚠️ L4 is not reached: the controls support only L3, recommend\n"
    )
    assert summary.render(build.results(recommended=Level.L4)).startswith(
        "## ✅ The controls support L4, act with approval\n"
    )
    assert summary.render(build.results(recommended=None)).startswith("## ⚠️ No level is issued\n")


def test_red_trials_stand_with_file_and_line(red: Results) -> None:
    text = summary.render(red)
    assert "### 5 red trials" in text
    assert "succeeded: nothing stopped it — block\\_address of 192.0.2.53 was executed (`scenarios/attacks/" in text
    order = [
        "### Why",
        "### Who stopped",
        "### Gates",
        "### The bill",
        "### Rates",
        "### Not covered",
        "### 5 red trials",
    ]
    assert sorted(order, key=text.index) == order
    assert "An attack got through that self\\_blinding was to stop" in text


def test_tables_and_headings_render(red: Results) -> None:
    html = GFM.render(summary.render(red))
    assert html.count("<table>") == 3  # the bill and the rates of both arms
    assert "<td>1 of 9, 95 % interval 1.9 % to 43.5 %</td>" in html
    assert "\\" not in re.sub("<code>.*?</code>", "", html)


def test_difference_to_the_previous_run(red: Results) -> None:
    text = summary.render(red, build.results(build.trials_of(arms=(Arm.BASELINE, Arm.PROTECTED)), mode="compare"))
    assert "### Since the previous run: worse" in text
    assert "lost ATK-003-german-protected: resisted by self\\_blinding" in text
    same = summary.render(red, red)
    assert "### Since the previous run: not worse" in same


@pytest.mark.parametrize("limit", [2_000, 20_000, summary.LIMIT])
def test_cap_holds_in_bytes_and_says_what_was_cut(limit: int) -> None:
    trials = [build.changed(t, passed=False, cause="ä" * 300) for t in build.many(3000)]
    text = summary.render(build.results(trials), limit=limit)
    assert len(text.encode()) <= limit < 1_048_576
    cut = re.search(r"Cut here: [\d,]+ lines more did not fit", text)
    assert bool(cut) == (limit < summary.LIMIT or len(text.encode()) > limit - 1000)
    assert text.startswith("## ")


@pytest.mark.parametrize("name", hostile.TEXTS)
def test_hostile_text_stays_text(red: Results, name: str) -> None:
    text = hostile.TEXTS[name]
    clean, dirty = summary.render(red, red), summary.render(hostile.record(red, text), hostile.record(red, text))
    dirty.encode()
    allowed = set(tokens(clean))
    assert set(tokens(dirty)) <= allowed
    assert not {"html_inline", "html_block", "link_open", "image", "fence", "code_block"} & set(tokens(dirty))
    assert tokens(dirty).count("heading_open") == tokens(clean).count("heading_open")
    assert tokens(dirty).count("tr_open") == tokens(clean).count("tr_open")
    source = re.sub(r"(`+).*?\1", "", dirty)
    assert not re.search(r"https?://|www\.[a-z]|\$", source)
    assert not re.search(r"@\w|#\d|GH-\d", "".join(prose(dirty)))


def test_every_table_cell_holds_its_own_text(red: Results) -> None:
    text = "a|b\\|c\\\\|d"
    rendered = GFM.render(summary.render(hostile.record(red, text)))
    rows = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", rendered, flags=re.DOTALL)]
    bill = [row for row in rows if len(row) == 3]
    assert bill == [[text, text, text]] * 2
    assert {row[0] for row in rows if len(row) == 4} >= {f"{text}0"}


@pytest.mark.parametrize(
    "text", ["", " ", "`", "``", "a`", "`a", "a ` b", "|", "\\", "*", "<", "&amp;", "1.", "-", "a\\"]
)
def test_escapes_give_back_the_text(text: str) -> None:
    def plain(markdown: str) -> str:
        inline = GFM.parseInline(markdown)[0].children or []
        return "".join(child.content for child in inline).replace("\u200b", "")

    assert plain(f"x {summary.prose(text)} y") == f"x {text.strip()} y"
    assert plain(f"x {summary.code(text)} y").replace(" ", "") == f"x{text}y".replace(" ", "")


def test_same_record_gives_the_same_bytes(red: Results) -> None:
    assert summary.render(red) == summary.render(Results.model_validate_json(red.model_dump_json()))


def test_known_answer_alone() -> None:
    record = build.results([], mode="known-answer", known_answer=build.known_answer(), recommended=Level.L1)
    assert summary.render(record).startswith(
        "## ❌ Known answers dropped: 2 items and the beyond-human count fell\n"
    ) or ("Known answers dropped: 2 items" in summary.render(record).splitlines()[0])
    text = summary.render(record)
    for word in ("### Rates", "Agent", "scenarios ran"):
        assert word not in text


def test_the_baseline_names_no_policy() -> None:
    record = build.results(build.trials_of(arms=(Arm.BASELINE,)), mode="baseline", recommended=None)
    none = record.model_copy(update={"digests": record.digests.model_copy(update={"policy": ""})})
    assert "· no control plane ·" in summary.render(none)
