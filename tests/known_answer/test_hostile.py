"""Hostile input: no reader crashes or hangs, every error is ours and printable, and time grows with size."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_soclab.base.errors import KnownAnswerError
from pytest_soclab.known_answer.basis.files import read_json
from pytest_soclab.known_answer.intel_off.settings import build, read_settings
from pytest_soclab.known_answer.markdown.inline import inline_text
from pytest_soclab.known_answer.provenance.report_text import fragments, normal, read_report
from pytest_soclab.known_answer.provenance.tags import builtin_kind, read_ledger, read_techniques
from pytest_soclab.known_answer.reading.blind import read_blind
from pytest_soclab.known_answer.reading.calibration import read_calibration
from pytest_soclab.known_answer.reading.key_score import read_key_score

from .support import score, soclab, write

PIECES = [
    *(
        "| K1.1 | found |\n",
        "|---|---|\n",
        "| # | V |\n",
        "## Item by item\n",
        "**Totals:** ",
        "1 found / ",
        "\n\n",
        "- ",
    ),
    *(
        "9 facts beyond the human reports",
        "1. x\n",
        "> ",
        "    ",
        "```\n",
        "<!--",
        "-->",
        "`",
        "*",
        "_",
        "[",
        "](",
        "]",
    ),
    *("\\|", "|", "&amp;", "\r\n", "\r", "\t", "\0", "\u00a0", "\u202e", "\x1b[31m", "é", "\U0001f600", '"', "“", "…"),
    *("ev_0001", "[ev_0001].", ". ", "label,item,verdict\n", "item;Q\n", "Q,K1,found\n", "\n", ",", ";", "[a]: b\n"),
    *("===\n", "<div>\n"),
]
FIELDS = [
    *("format", "run", "facts", "traps", "id", "verdict", "stored", "labels", "Q", "ok", "kind", "values", "entries"),
    *(
        "techniques",
        "evidence",
        "published",
        "server",
        "tool",
        "tools",
        "agents",
        "mcp",
        "providers",
        "agents.profiles",
    ),
    *("mcp.servers", "providers.x", "mcp.servers.x", "core.agents.active_profile"),
]
text = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
data = st.one_of(st.binary(), text.map(lambda value: value.encode("utf-8", "surrogatepass")))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.sampled_from(PIECES)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(FIELDS), inner, max_size=5),
    ),
    max_leaves=20,
)
documents = st.one_of(data, values.map(lambda value: json.dumps(value).encode()))
fuzz = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def ours(reader, *arguments):
    """Run a reader; an error must be a KnownAnswerError whose lines are printable."""
    message = ""
    try:
        reader(*arguments)
    except KnownAnswerError as error:
        message = str(error)
    assert all(line.isprintable() for line in message.split("\n"))
    assert "\u202e" not in message


@fuzz
@given(data)
def test_fuzz_the_key_score(tmp_path, content):
    ours(read_key_score, write(tmp_path, content))


@fuzz
@given(data)
def test_fuzz_the_report(tmp_path, content):
    def reader(path):
        report = read_report(path)
        for fragment in ("K1.1 | found", "1. x", "ev_0001", *(line[-12:] for line in report.text.split("\n") if line)):
            report.cited(fragment)

    ours(reader, write(tmp_path, content))


@fuzz
@given(data, documents)
def test_fuzz_the_blind_sheet(tmp_path, sheet, sealed):
    good = write(tmp_path, json.dumps({"Q": "run7"}), "good.json")
    ours(read_blind, write(tmp_path, sheet, "s.csv"), good)
    ours(read_blind, write(tmp_path, "item,Q\nK1,found\n", "g.csv"), write(tmp_path, sealed, "m.json"))


@fuzz
@given(documents)
def test_fuzz_the_json_readers(tmp_path, content):
    path = write(tmp_path, content, "x.json")
    ours(read_calibration, path)
    ours(read_ledger, path, builtin_kind)
    ours(read_techniques, path)
    ours(lambda: build(read_settings(path), path))


@given(text)
def test_fuzz_cells(cell):
    inline_text(cell)
    normal(cell)
    fragments(cell)


HOSTILE = {
    "quotation marks": ">" * 200_000,
    "brackets": "[" * 200_000,
    "bracket cell": f"| K1 | found | {'[' * 100_000} |",
    "links": "[a](" * 50_000,
    "stars": "*" * 200_000 + "a" + "*" * 200_000,
    "emphasis": "*a _b " * 50_000,
    "ticks": "`" * 200_000,
    "tick runs": "".join("`" * n + " " for n in range(600)),
    "comments": "<!--" * 50_000,
    "inline comments": "a <!--" * 50_000,
    "nested list": "\n".join("  " * n + "- a" for n in range(400)),
    "list in one line": "- " * 50_000,
    "quotation and list": "> - " * 30_000,
    "pipes": "|" * 100_000 + "\n" + "|-" * 50_000 + "\n" + "|a" * 50_000,
    "wide table": "|" + "a|" * 900 + "\n|" + "-|" * 900 + "\n" + "|a|\n" * 5000,
    "rows": "| a | b |\n|-|-|\n" + "| a | b |\n" * 20_000,
    "tables": "|a|b|\n|-|-|\n\n" * 10_000,
    "lazy quotation": "> a\n" + "b\n" * 20_000,
    "references": "[a]: b\n" * 30_000,
    "entities": "&amp;" * 50_000,
    "backslashes": "\\" * 200_000,
    "totals": "**Totals:** 1 found\n" * 3000,
    "separators": "**Totals:** 1 found / " * 3000,
    "beyond": "9 facts beyond the human reports. " * 3000,
    "spaces": "a" + " " * 200_000 + "b",
    "newlines": "\n" * 200_000,
    "carriage returns": "\r" * 200_000,
    "html": "<div " * 40_000,
    "fence": "```\n" + "a\n" * 60_000,
    "headings": "# a\n" * 20_000,
    "deep headings": "".join(f"{'#' * (1 + n % 6)} a\n" for n in range(20_000)),
    "setext": "a\n=\n" * 10_000,
    "stops": ". [ev_0001]" * 20_000,
    "citations": "[ev_0001]" * 20_000 + "x",
    "quotes": '"' * 100_000,
    "curly quotes": "“" * 100_000,
    "digits": "1" * 200_000 + " facts beyond the human reports",
    "unicode": "\u0301" * 100_000,
    "nuls": "\0" * 100_000,
    "dots": "." * 200_000 + "x",
    "underscores": "a" + "_" * 200_000 + "b",
    "closers": "[ev_0001" + "]" * 200_000 + "x." + ")" * 200_000,
    "facts": "## Beyond\n\n1. a\n\n1 fact beyond the human reports\n\n" * 3000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_markdown_ends_soon(name, tmp_path):
    start = time.process_time()
    for before in ("", "## Item by item\n\n| # | V |\n|-|-|\n| K1.1 | found |\n"):
        path = write(tmp_path, before + HOSTILE[name])
        ours(read_key_score, path)
        ours(lambda path=path: read_report(path).cited("twelve chars"))
    fragments(HOSTILE[name])
    assert time.process_time() - start < 20  # a generous net for a hang, no measure of speed


def test_a_hostile_cell_keeps_its_neighbours_readable(tmp_path):
    text = score([("K1.1", "found"), (f"K1.2 {'[' * 5000}", "found"), (f"K9 {'*`' * 3000}x", "missed")])
    assert list(read_key_score(write(tmp_path, text)).items) == ["K1.1", "K1.2", "k9 x"]


@pytest.mark.parametrize("name", ["rows", "tables", "headings", "references", "citations", "stops", "html"])
def test_four_times_the_input_takes_about_four_times_the_time(name, tmp_path):
    def seconds(content, label):
        path = write(tmp_path, content, label)
        start = time.process_time()
        ours(read_key_score, path)
        ours(read_report, path)
        return time.process_time() - start

    base = HOSTILE[name][:40_000]
    single = min(seconds(base, "a.md") for _ in range(2))
    fourfold = seconds("\n".join([base] * 4), "b.md")
    assert fourfold < 10 * single + 0.2  # quadratic growth would be sixteenfold


def test_hostile_text_is_printed_as_escapes(tmp_path, capsys):
    label = "K9 \x1b[31mred\x07 \u202eabc\u2066"
    path = write(tmp_path, score([(label, "found"), ("K1.1", "found")]).replace("made up", "ev_1"))
    other = write(tmp_path / "\u202edir\x1b", score([(label, "missed"), ("K1.1", "found")]))
    write(tmp_path, '[{"id": "ev_1", "kind": "static_analysis"}]', "evidence.json")
    third = write(tmp_path / "third", score([(label, "found")]))
    write(tmp_path / "third", "[]", "evidence.json")
    for arguments in (
        ("score", path, other),
        ("gate", "--baseline", path, "--candidate", other),
        ("gate", "--baseline", path, "--candidate", third),
    ):
        out = soclab(capsys, *arguments).out
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert r"\x1b[31mred\x07 \u202eabc\u2066" in out
    bad = soclab(capsys, "score", write(tmp_path, score([(label, "\x1b[2Jmaybe")]), "bad.md"))
    assert bad.status == 2
    assert bad.err.strip().isprintable()
    usage = soclab(capsys, "score", "--\x1b[31m", "x")
    assert usage.status == 2
    assert "\x1b" not in usage.err
    assert usage.err.count("\n") == 1


def test_memory_grows_by_less_than_ten_times_the_file(tmp_path):
    import tracemalloc

    def peak(count):
        rows = {f"K{i // 1000}.{i % 1000} a label of some length": "found" for i in range(count)}
        path = write(tmp_path, score(rows), f"{count}.md")
        tracemalloc.start()
        try:
            read_key_score(path)
            return tracemalloc.get_traced_memory()[1], (tmp_path / f"{count}.md").stat().st_size
        finally:
            tracemalloc.stop()

    (less, small), (more, large) = peak(15_000), peak(30_000)  # what is kept for any file counts on neither side
    assert more - less < 10 * (large - small)


def test_more_rows_than_are_read_are_refused_with_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("pytest_soclab.known_answer.reading.key_score.MOST_ROWS", 5)
    path = write(tmp_path, score({f"K1.{number}": "found" for number in range(6)}))
    with pytest.raises(KnownAnswerError, match="more than 5 rows of tables, expected at most 5 rows a file"):
        read_key_score(path)


@pytest.mark.parametrize("pieces", [3, 60_000])
def test_json_of_tiny_values_is_refused_with_the_limit_and_no_copy_of_it(pieces, tmp_path):
    import tracemalloc

    data = json.dumps({"facts": [["ab\\"] * 8] * pieces, "text": "{[,\\" * 150_000}).encode()
    path = write(tmp_path, data, "x.json")
    tracemalloc.start()
    try:
        if pieces == 3:
            assert set(read_json(path)) == {"facts", "text"}
        else:
            with pytest.raises(KnownAnswerError, match=r"tiny values in .* in memory, expected values that take"):
                read_json(path)
            assert tracemalloc.get_traced_memory()[1] < 4 * len(data)
    finally:
        tracemalloc.stop()


def test_memory_stays_below_ten_times_the_file(tmp_path):
    import tracemalloc

    rows = {f"K{i // 1000}.{i % 1000} a label of some length": "found" for i in range(20_000)}
    path = write(tmp_path, score(rows))
    size = len((tmp_path / "score.md").read_bytes())
    tracemalloc.start()
    try:
        read_key_score(path)
        assert tracemalloc.get_traced_memory()[1] < 10 * size
    finally:
        tracemalloc.stop()
