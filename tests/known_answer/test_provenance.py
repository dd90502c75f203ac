"""Own analysis or lookup: which entries credit an item, how they are classed, and the tags of runs and arms."""

from __future__ import annotations

import json

import pytest

from pytest_soclab.base.errors import KnownAnswerError
from pytest_soclab.known_answer.provenance.report_text import evidence_ids, fragments
from pytest_soclab.known_answer.provenance.tags import arm_tag, read_provenance, tag
from pytest_soclab.known_answer.sources import How, Sources

from .support import soclab, table, write

KINDS = {
    "1": "static_analysis",
    "2": "reputation_lookup",
    "3": None,
    "4": "indicator_report",
    "5": "service_submission",
}
LEDGER = [{"id": f"ev_000{n}", "server": "s", "tool": "t", "kind": kind, "ok": True} for n, kind in KINDS.items()]
LEDGER += [{"id": "ev_0006", "kind": "static_analysis", "ok": False}, {"id": "ev_0007", "kind": "sandbox_run"}]
BOTH_IDS = ["ev_0001", "ev_0002"]
QUOTE = "twelve or more letters"


def run(tmp_path, note, report=None, *, mitre=None, ledger=LEDGER, item="K1.1", verdict="found", settings=None):
    """Return tag and ids of the one item of a run."""
    text = f"## Item by item\n\n| Item | V | Note |\n|-|-|-|\n| {item} | {verdict} | {note} |\n"
    path = write(tmp_path, text)
    for name, content in (("evidence.json", ledger), ("mitre.json", mitre)):
        if content is not None:
            write(tmp_path, content if isinstance(content, str) else json.dumps(content), name)
    if report is not None:
        write(tmp_path, report, "report.md")
    given = write(tmp_path, json.dumps(settings), "settings.json") if settings else None
    provenance = Sources(How(settings=given)).runs(path)[0].provenance
    key = next(iter(provenance.tags), None)
    return (provenance.tags[key], [entry.id for entry in provenance.entries[key]]) if key else None


# The ids of the row


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("ev_0014", ["ev_0014"]),
        ("[ev_0014,ev_0015]", ["ev_0014", "ev_0015"]),
        ("`ev_0014`; **ev_0015**, (ev_0016).", ["ev_0014", "ev_0015", "ev_0016"]),
        ("_ev_0014_ __ev_0015__", ["ev_0014", "ev_0015"]),
        (r"ev\_0014", ["ev_0014"]),
        ("[ev_0014](evidence.json)", ["ev_0014"]),
        ("ev_0014a xev_0014 my_ev_0014 ev_0014_b EV_0014 ev_ ev_x", []),
        ("ev_0014 ev_0014", ["ev_0014"]),
        ("ev_0014/ev_0015-ev_0016", ["ev_0014", "ev_0015", "ev_0016"]),
    ],
)
def test_evidence_ids(text, ids):
    assert evidence_ids(text) == ids


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        ("ev_0001", ("own analysis", ["ev_0001"])),
        ("ev_0007", ("own analysis", ["ev_0007"])),
        ("[ev_0001,ev_0002]", ("own analysis + lookup", ["ev_0001", "ev_0002"])),
        ("ev_0001 ev_0003", ("own analysis", ["ev_0001", "ev_0003"])),
        ("ev_0001 ev_0002 ev_0003", ("own analysis + lookup", ["ev_0001", "ev_0002", "ev_0003"])),
        ("ev_0002 ev_0004 ev_0005", ("lookup only", ["ev_0002", "ev_0004", "ev_0005"])),
        ("ev_0003", ("undeclared", ["ev_0003"])),
        ("ev_0002 ev_0003", ("undeclared", ["ev_0002", "ev_0003"])),
        ("ev_0006", ("no cited entry", [])),
        ("ev_9999", ("no cited entry", [])),
        ("nothing", ("no cited entry", [])),
        ("ev_0006 ev_0002", ("lookup only", ["ev_0002"])),
    ],
)
def test_the_ids_of_a_row_and_their_classes(note, expected, tmp_path):
    assert run(tmp_path, note) == expected


@pytest.mark.parametrize("verdict", ["missed", "wrong", "unknown"])
def test_an_item_that_is_not_credited_has_no_tag(verdict, tmp_path):
    assert run(tmp_path, "ev_0001", verdict=verdict) is None


# Quoted fragments


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ('"twelve chars"', ["twelve chars"]),
        ('"eleven char"', []),
        ('"  eleven char  "', []),
        ("“twelve chars” and „also twelve chars“", ["twelve chars", "also twelve chars"]),
        ('"the first twelve … the other twelve ... short"', ["the first twelve", "the other twelve"]),
        ('"twelve **chars** `or` so"', ["twelve chars or so"]),
        ('"twelve   chars\u00a0or"', ["twelve chars or"]),
        ("twelve chars unquoted", []),
        ('"open only, never closed', []),
        ('"open only, never\0closed in its cell"', []),
        ("&quot;twelve chars&quot;", ["twelve chars"]),
        ("'twelve chars in single quotes'", []),
        ('"twelve chars" "twelve chars"', ["twelve chars"]),
    ],
)
def test_fragments(row, found):
    assert fragments(row) == found


@pytest.mark.parametrize(
    ("report", "ids"),
    [
        # the citation that closes the sentence, before or behind the full stop
        (f"The {QUOTE} stand here [ev_0001].", ["ev_0001"]),
        (f"The {QUOTE} stand here. [ev_0001]", ["ev_0001"]),
        (f"The {QUOTE} stand here. [ev_0001] Another [ev_0002].", ["ev_0001"]),
        (f"The {QUOTE} stand here [ev_0001]. [ev_0002] says more.", ["ev_0001"]),
        (f"The {QUOTE} stand here. [ev_0002] says more.", []),
        (f"The {QUOTE} stand here [ev_0001]", ["ev_0001"]),
        (f"The {QUOTE} [ev_0002] stand here [ev_0001].", ["ev_0001"]),
        (f"The {QUOTE} [ev_0002] stand here.", []),
        (f"Before [ev_0002]. The {QUOTE} stand [ev_0001]. After [ev_0004].", ["ev_0001"]),
        (f"The {QUOTE} stand [ev_0001, ev_0002].", ["ev_0001", "ev_0002"]),
        (f"The {QUOTE} stand [ev_0001][ev_0002].", ["ev_0001", "ev_0002"]),
        (f"The {QUOTE} stand [ev_0001], [ev_0002] and [ev_0004].", ["ev_0001", "ev_0002", "ev_0004"]),
        (f"The {QUOTE} stand (ev_0001).", ["ev_0001"]),
        (f"The {QUOTE} stand (see [ev_0001]).", ["ev_0001"]),
        (f"The {QUOTE} stand. ([ev_0001])", ["ev_0001"]),
        (f"The {QUOTE} stand — `ev_0001`.", ["ev_0001"]),
        (f"The {QUOTE} stand [`ev_0001`](evidence.json#1).", ["ev_0001"]),
        (f"The {QUOTE} stand in Update_%x.dll at 0x10.20, e.g. here, i.e. there [ev_0001].", ["ev_0001"]),
        (f"The {QUOTE} stand! Other [ev_0002].", []),
        (f"The {QUOTE} stand? [ev_0001]", ["ev_0001"]),
        (f"The {QUOTE} stand [ev_0001].\n\nNext paragraph [ev_0002].", ["ev_0001"]),
        (f"The {QUOTE} stand\n\nNext paragraph [ev_0002].", []),
        # spaces and line wraps as one; emphasis and ticks ignored
        ("The twelve or\n**more**   `letters` stand\n[ev_0001].", ["ev_0001"]),
        ("> The twelve or\n> _more_ letters stand [ev_0001].", ["ev_0001"]),
        (f"- The {QUOTE} stand [ev_0001].\n- Other [ev_0002].", ["ev_0001"]),
        (f"1. The {QUOTE} stand [ev_0001]\n2. Other [ev_0002]", ["ev_0001"]),
        (f"## The {QUOTE} [ev_0001]\n\nText [ev_0002].", ["ev_0001"]),
        # a table row: every id of that row
        (f"| a | b |\n|-|-|\n| ev_0001 | the **{QUOTE}** [ev_0002] |\n| ev_0005 | y |\n", ["ev_0001", "ev_0002"]),
        (f"- item\n\n  | a | b |\n  |-|-|\n  | {QUOTE} | ev_0001 |\n", ["ev_0001"]),
        # it stands twice with different citations: both count
        (f"The {QUOTE} a [ev_0001]. Then {QUOTE} b [ev_0002].", ["ev_0001", "ev_0002"]),
        (f"The {QUOTE} a [ev_0001].\n\n| x | y |\n|-|-|\n| {QUOTE} | ev_0002 |\n", ["ev_0001", "ev_0002"]),
        # it does not stand
        ("The twelve or less letters stand [ev_0001].", []),
        (f"<!-- The {QUOTE} stand [ev_0001]. -->\n\nText.", []),
        ("twelve or more\n\nletters [ev_0001].", []),
        ("", []),
    ],
)  # fmt: skip
def test_where_a_fragment_stands(report, ids, tmp_path):
    assert run(tmp_path, f'"{QUOTE}"', report)[1] == ids


@pytest.mark.parametrize(
    ("note", "report", "ids"),
    [
        ('"stand here [ev_0002], and more"', "We stand here [ev_0002], and more [ev_0001].", ["ev_0002", "ev_0001"]),
        ('"they stand right here."', "So they stand right here. [ev_0001] Next [ev_0002].", ["ev_0001"]),
        ('"they stand here. [ev_0001]"', "So they stand here. [ev_0001] Next one [ev_0002].", ["ev_0001"]),
        ('"the first part … the second part"', "The first part or the first part [ev_0001].", ["ev_0001"]),
        ('"the first part … the second part"', "In the first part [ev_0001]. The second part [ev_0002].", ["ev_0001"]),
        ('"the second part...the first part"', "In the second part [ev_0001]. In the first part [ev_0002].", BOTH_IDS),
        (r'"a pipe \| in the text"', "With a pipe | in the text [ev_0001].", ["ev_0001"]),
        (r'"a pipe \| in the text"', "| x | y |\n|-|-|\n| a pipe \\| in the text | ev_0001 |\n", ["ev_0001"]),
        ('"`Custom_update` is the path"', "Here `Custom_update` is the path [ev_0001].", ["ev_0001"]),
        ('"curly “inner” quote"', "A curly “inner” quote [ev_0001].", ["ev_0001"]),
    ],
)  # fmt: skip
def test_what_a_fragment_holds(note, report, ids, tmp_path):
    assert run(tmp_path, note, report)[1] == ids


# Techniques


@pytest.mark.parametrize(
    ("item", "entry", "ids"),
    [
        ("K10 T1027", {"id": "T1027", "published": True, "evidence": ["ev_0001"]}, ["ev_0001"]),
        ("K10 T1027", {"id": "T1027", "evidence": ["ev_0001", "ev_0006", "ev_9999"]}, ["ev_0001"]),
        ("k10 t1027", {"id": "t1027", "evidence": ["ev_0001"]}, ["ev_0001"]),
        ("K10 T1027", {"id": "T1027", "published": False, "evidence": ["ev_0001"]}, []),
        ("K10 T1027", {"id": "T1027.001", "evidence": ["ev_0001"]}, []),
        ("K10 T1027", {"id": "T1027"}, []),
        ("K1.1", {"id": "T1027", "evidence": ["ev_0001"]}, []),
    ],
)
def test_a_technique_is_credited_by_what_the_run_published(item, entry, ids, tmp_path):
    assert run(tmp_path, "x", mitre=[entry], item=item)[1] == ids
    assert run(tmp_path, "x", mitre={"techniques": [entry, {"id": "T1", "evidence": ["ev_0002"]}]}, item=item)[1] == ids


def test_a_technique_listed_twice_counts_where_it_is_published(tmp_path):
    mitre = [
        {"id": "T1027", "published": False, "evidence": ["ev_0002"]},
        {"id": "T1027", "evidence": ["ev_0001"]},
        {"id": "T1027", "evidence": ["ev_0007"]},
    ]
    assert run(tmp_path, "ev_0003", mitre=mitre, item="K10 T1027")[1] == ["ev_0003", "ev_0001", "ev_0007"]


# Declarations

SETTINGS = {
    "mcp.servers": {
        "vendor": {"tools": {"ask": {"kind": "reputation_lookup"}, "plain": {}}},
        "virustotal": {"tools": {"get_file_report": {"kind": "static_analysis"}}},
    },
    "providers": {"box": {"tools": {"ask": {"kind": "service_submission"}}}},
}
EXPORT = {"format": "settings-export/1", "values": {f"core.{key}": value for key, value in SETTINGS.items()}}


@pytest.mark.parametrize(
    ("server", "tool", "kind", "tags"),
    [
        ("vendor", "ask", None, ("lookup only", "undeclared")),
        ("vendor", "ask", "static_analysis", ("own analysis", "own analysis")),
        ("vendor", "plain", None, ("undeclared", "undeclared")),
        ("vendor", "other", "", ("undeclared", "undeclared")),
        ("virustotal", "get_file_report", None, ("own analysis", "lookup only")),
        ("virustotal", "get_behaviour", None, ("own analysis", "own analysis")),
        ("threatintel", "indicator", None, ("lookup only", "lookup only")),
        ("box", "ask", None, ("lookup only", "undeclared")),
        ("virustotal_lookup", "reputation_lookup", None, ("undeclared", "undeclared")),
    ],
)
def test_the_kind_that_a_tool_declares(server, tool, kind, tags, tmp_path):
    entry = {"id": "ev_0001", "server": server, "tool": tool, "ok": True} | ({} if kind is None else {"kind": kind})
    for settings in (SETTINGS, EXPORT):
        assert run(tmp_path, "ev_0001", ledger=[entry], settings=settings)[0] == tags[0]
    assert run(tmp_path, "ev_0001", ledger={"entries": [entry]})[0] == tags[1]


# Artefacts


def test_which_artefacts_were_read_is_said(tmp_path, capsys):
    path = write(tmp_path, f"## Item by item\n\n{table({'K1.1': 'found'})}")
    assert "evidence: not read" in soclab(capsys, "score", path).out
    write(tmp_path, "x", "report.md")
    ran = soclab(capsys, "score", path, out=tmp_path / "o.json")
    assert "read: report.md; absent: evidence.json, mitre.json" in ran.out
    assert ran.result["runs"][0]["provenance"]["read"] == ["report.md"]
    assert ran.result["runs"][0]["tags"] == {"K1.1": "no cited entry"}
    write(tmp_path, "[]", "evidence.json")
    write(tmp_path, "[]", "mitre.json")
    assert "read: evidence.json, report.md, mitre.json\n" in soclab(capsys, "score", path).out


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("evidence.json", [{"id": "ev_1"}, {"id": "ev_1"}], "evidence.json [1]: the entry 'ev_1' twice"),
        ("evidence.json", {"other": []}, "expected a list of objects"),
        ("evidence.json", ["x"], "[0]: 'x', expected an object"),
        ("evidence.json", [{"id": 1}], "[0].id: 1, expected a text"),
        ("evidence.json", [{"id": "ev_1", "ok": "yes"}], "[0].ok: 'yes', expected true or false"),
        ("evidence.json", [{"id": "ev_1", "kind": 5}], "[0].kind: 5, expected a text"),
        ("evidence.json", [{"id": "ev_1", "server": []}], "[0].server"),
        ("mitre.json", [{"id": "T1", "evidence": "ev_1"}], "[0].evidence"),
        ("mitre.json", [{"id": "T1", "published": 1}], "[0].published"),
        ("mitre.json", {}, "expected a list of objects"),
    ],
)
def test_an_artefact_that_cannot_be_read_is_refused(name, content, text, tmp_path):
    path = write(tmp_path, f"## Item by item\n\n{table({'K1.1': 'found'})}")
    write(tmp_path, json.dumps(content), name)
    with pytest.raises(KnownAnswerError) as caught:
        Sources().runs(path)
    assert text in str(caught.value)


def test_no_artefact_gives_no_provenance(tmp_path):
    assert read_provenance(write(tmp_path, "x"), {}) is None


# Tags of arms


def test_tags_of_classes():
    assert tag([]) == "no cited entry"
    assert tag(["lookup", "undeclared"]) == tag(["undeclared"]) == "undeclared"
    assert tag(["lookup", "analysis", "undeclared"]) == "own analysis + lookup"


A, B, L, U, N = "own analysis", "own analysis + lookup", "lookup only", "undeclared", "no cited entry"


@pytest.mark.parametrize(
    ("tags", "m", "expected"),
    [
        ([A, A, L], 2, A),
        ([A, B, L], 2, B),
        ([A, B, A], 2, A),
        ([A, B], 2, B),
        ([A, L], 2, "mixed"),
        ([A, L, N], 2, "mixed"),
        ([B, L, N], 2, "mixed"),
        ([L, L, A], 2, L),
        ([A, B, B, L], 3, B),
        ([A, A, B, L], 3, B),
        ([A, A, L, L], 3, "mixed"),
        ([A], 1, A),
        ([N], 1, N),
        ([A, L], 1, "mixed"),
        ([A, B], 1, B),
        ([A], 2, "mixed"),
    ],
)
def test_the_tag_of_an_item_in_an_arm(tags, m, expected):
    assert arm_tag(tags, m) == expected


def test_only_runs_that_reach_the_verdict_have_a_say_in_the_tag(tmp_path, capsys):
    paths = []
    for number, (verdict, note) in enumerate(
        [("found", "ev_0001"), ("found", "ev_0001"), ("partly (body)", "ev_0002")]
    ):
        directory = tmp_path / f"r{number}"
        paths.append(
            write(directory, f"| Item | V | Note |\n|-|-|-|\n| K1.1 | {verdict} | {note} |\n\nRun {number}.\n")
        )
        write(directory, json.dumps(LEDGER), "evidence.json")
    ran = soclab(capsys, "score", *paths, out=tmp_path / "o.json")
    assert ran.result["arm"]["tags"] == {"K1.1": A}
    assert soclab(capsys, "score", *paths, "--m", 3, out=tmp_path / "p").result["arm"]["tags"] == {"K1.1": "mixed"}
    assert ran.result["runs"][0]["entries"] == {"K1.1": [{"id": "ev_0001", "class": "analysis"}]}
