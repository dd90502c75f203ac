"""The blind scoring sheet, its sealed map, and the calibration score."""

from __future__ import annotations

import json

import pytest

from pytest_soclab.base.errors import KnownAnswerError
from pytest_soclab.known_answer.basis.verdicts import word
from pytest_soclab.known_answer.reading.blind import read_blind
from pytest_soclab.known_answer.reading.calibration import read_calibration

from .support import soclab, write

MAP = {"Q": "run7", "M": "haiku4"}
LONG = "label,item,verdict\nQ,K1.1 a,found\nM,K1.1 b,missed\nQ,beyond-human,9\n"


def opened(tmp_path, sheet, sealed=MAP):
    text = sealed if isinstance(sealed, str) else json.dumps(sealed)
    return read_blind(write(tmp_path, sheet, "scores.csv"), write(tmp_path, text, "map.json"))


def verdicts(tmp_path, sheet, sealed=MAP, run="run7"):
    found = opened(tmp_path, sheet, sealed).run(f"blind:{run}")
    return {key: word(verdict) for key, verdict in found.verdicts.items()}


def refused(tmp_path, sheet, sealed=MAP):
    with pytest.raises(KnownAnswerError) as caught:
        opened(tmp_path, sheet, sealed)
    return str(caught.value).replace(f"{tmp_path}/", "")


@pytest.mark.parametrize(
    "sheet",
    [
        LONG,
        LONG.replace(",", ";"),
        LONG.replace(",", "\t"),
        LONG.replace("\n", "\r\n"),
        "\ufeff" + LONG,
        "\n" + LONG + "\n,,\n",
        LONG.replace("label,item,verdict", "Label , ITEM, Verdict"),
        LONG.replace("label,item,verdict", "report,#,score"),
        LONG.replace("label,item,verdict", "Blind,Key,Score"),
        LONG.replace("label,item,verdict", "run,item,verdict"),
        LONG.replace("label,item,verdict", '"label","item","verdict"'),
        "label,report,item,verdict\nQ,quoted text,K1.1 a,**Found**\nM,,K1.1,`missed`\nQ,x,beyond-human,9\n",
        "item,note,label,verdict,key\nK1.1,a;b,Q,found,k\nK1.1,,M,missed,k\nbeyond-human,,Q,9,\n",
        "item,Q,M\nK1.1 a,found,missed\nbeyond-human,9,\n",
        "ITEM;M;Q\nK1.1 a;missed;found\nBeyond-Human;;9\n",
        "#\tq\tm\r\nK1.1\tfound\tmissed\r\nbeyond-human\t9\t\r\n",
        "item,Q,M,\nK1.1 a,found,missed,\nbeyond-human,9,,\n",
    ],
)
def test_a_sheet_in_its_forms(sheet, tmp_path):
    found = opened(tmp_path, sheet)
    run7, haiku4 = found.run("blind:run7"), found.run("blind:haiku4")
    assert {key: word(verdict) for key, verdict in run7.verdicts.items()} == {"K1.1": "found"}
    assert {key: word(verdict) for key, verdict in haiku4.verdicts.items()} == {"K1.1": "missed"}
    assert (run7.beyond, haiku4.beyond) == (9, None)
    assert (run7.name, run7.source) == ("run7", "blind:run7")


def test_an_empty_cell_and_unknown_reach_no_word(tmp_path):
    sheet = "item,Q,M\nK1.1,,found\nK1.2,unknown,\nK1.3,partly,found\n"
    assert verdicts(tmp_path, sheet) == {"K1.1": "unknown", "K1.2": "unknown", "K1.3": "partly (body)"}
    assert verdicts(tmp_path, "label,item,verdict\nQ,K1.1,\nM,K1.1,found\n") == {"K1.1": "unknown"}


def test_labels_are_keyed_as_in_markdown(tmp_path):
    sheet = 'label,item,verdict\nQ,"K9 `/live/`, x",found\nM,K1,found\nQ,**a** / `B`,found\nQ,"two\nlines",found\n'
    assert list(verdicts(tmp_path, sheet)) == ["k9/live/, x", "a/b", "two lines"]


@pytest.mark.parametrize(
    "sealed", [{"labels": MAP}, {"labels": MAP, "sealed": "2030-01-01"}, {" Q ": "run7", "M": "haiku4 "}]
)
def test_a_map_in_its_forms(sealed, tmp_path):
    assert verdicts(tmp_path, LONG, sealed) == {"K1.1": "found"}


@pytest.mark.parametrize(
    ("sealed", "text"),
    [
        ({"Q": "run7", "M": "run7"}, "map.json: the run 'run7' behind the two labels 'Q' and 'M'"),
        ('{"Q": "run7", "Q": "haiku4"}', "map.json: JSON that cannot be read (the key 'Q' twice in one object)"),
        ({"Q": "run7", " Q": "haiku4"}, "the label 'Q' twice"),
        ({}, "expected blind label to run name"),
        ([], "expected blind label to run name"),
        ({"labels": {}}, "expected blind label to run name"),
        ({"labels": {"Q": 7}}, "map.json Q: 7, expected a text"),
        ({"Q": ["run7"]}, "expected a text"),
        ({"Q": ""}, "expected a text"),
        ({"Q": NotImplemented}, "map.json"),
        ({"Q": "run7", "M": "haiku4", "Z": "third"}, "no row or column for the blind label 'Z', which the sealed map"),
        ({"Q": "run7"}, "scores.csv:3: the blind label 'M', which the sealed map lacks; valid: Q"),
        ('{"Q": "\\ud800", "M": "x"}', "half a surrogate pair"),
    ],
)
def test_a_map_that_does_not_fit_is_refused(sealed, text, tmp_path):
    if isinstance(sealed, dict) and NotImplemented in sealed.values():
        sealed = '{"Q": NaN}'
    assert text in refused(tmp_path, LONG, sealed)


@pytest.mark.parametrize(
    ("sheet", "text"),
    [
        ("", "scores.csv: an empty sheet"),
        ("\n\n", "an empty sheet"),
        ("label,item\nQ,K1.1\n", "without verdict column"),
        ("item,verdict\nK1.1,found\n", "without label column"),
        ("label,verdict\nQ,found\n", "without item column"),
        ("item,Q,X\nK1.1,found,found\n", "scores.csv:1: the blind label 'X', which the sealed map lacks"),
        ("item,Q\nK1.1,found\n", "no row or column for the blind label 'M'"),
        ("item,Q,M,note\nK1.1,found,missed,x\n", "the blind label 'note', which the sealed map lacks"),
        ("item,Q,M,Q\nK1.1,found,missed,found\n", "the column 'Q' twice"),
        ("item,item,Q,M\nK1.1,x,found,missed\n", "'item' and 'item' in the header, both read as item"),
        ("run,report,item,verdict\nQ,Q,K1.1,found\n", "'run' and 'report' in the header, both read as label"),
        (LONG + "Q,K1.1 again,missed\n", "scores.csv:5: item 'K1.1 again' twice, first on line 2"),
        (LONG + "Q,beyond-human,9\n", "item 'beyond-human' twice, first on line 4"),
        (LONG + "M,beyond-human,nine\n", "scores.csv:5: beyond-human is 'nine', expected a whole number"),
        (LONG + "M,beyond-human,-1\n", "expected a whole number"),
        (LONG + "M,beyond-human,found\n", "expected a whole number"),
        (LONG + "M,K1.2,maybe\n", "scores.csv:5: item 'K1.2' has the verdict 'maybe'"),
        (LONG + "M,K1.2 a, b,found\n", "scores.csv:5: 4 cells under a header of 3"),
        (LONG + "M,K1.2\n", "scores.csv:5: 2 cells under a header of 3"),
        (LONG + "M,,found\n", "scores.csv:5: a row without an item"),
        (LONG + ",K1.2,found\n", "scores.csv:5: the blind label ''"),
        (LONG + 'M,"K1.2,found\n', "scores.csv:5: CSV that cannot be read"),
        ('label,item,verdict\nQ,"a\nb",found\nM,K1,odd\n', "scores.csv:4: item 'K1' has the verdict 'odd'"),
    ],
)
def test_a_sheet_that_cannot_be_read_is_refused(sheet, text, tmp_path):
    assert text in refused(tmp_path, sheet)


def test_a_run_that_the_map_lacks_is_refused_naming_those_that_it_has(tmp_path, capsys):
    sheet, sealed = write(tmp_path, LONG, "s.csv"), write(tmp_path, json.dumps(MAP), "m.json")
    ran = soclab(capsys, "score", "blind:run8", "--sheet", sheet, "--map", sealed)
    assert ran.status == 2
    assert "m.json: the run 'run8', which the sealed map lacks; did you mean 'run7'? valid: haiku4, run7" in ran.err


@pytest.mark.parametrize("given", [[], ["--sheet", "s.csv"], ["--map", "m.json"]])
def test_a_blind_run_needs_sheet_and_map(given, capsys):
    ran = soclab(capsys, "score", "blind:run7", *given)
    assert (ran.status, ran.out) == (2, "")
    assert "expected --sheet CSV and --map JSON" in ran.err


def test_a_sheet_that_is_not_utf8(tmp_path):
    with pytest.raises(KnownAnswerError, match=r"s\.csv:2: byte 0xe9, which is not UTF-8"):
        read_blind(
            write(tmp_path, LONG.replace("K1.1 a", "é").encode("latin-1"), "s.csv"),
            write(tmp_path, json.dumps(MAP), "m"),
        )


# Calibration


def calibration(tmp_path, text=None, **changes):
    data = {"format": "calibration-score/1", "run": "cal", "facts": [{"id": "F1", "verdict": "Found"}]} | changes
    return read_calibration(write(tmp_path, text or json.dumps(data), "cal.json"))


def test_facts_traps_and_absent_entries(tmp_path):
    run = calibration(
        tmp_path,
        traps=[
            {"id": "T1", "stored": True, "verdict": "found"},
            {"id": "T2", "stored": False, "verdict": "found"},
            {"id": "T3", "stored": False},
            {"id": "T4", "verdict": "wrong"},
        ],
        absent=[{"id": "A1", "stored": False, "verdict": "partly (appendix)"}],
        beyond=["x"] * 9,
        extra={"kept": 1},
    )
    assert {key: word(verdict) for key, verdict in run.verdicts.items()} == {
        "f1": "found", "t1": "found", "t2": "unknown", "t3": "unknown", "t4": "wrong", "a1": "partly (dump)",
    }  # fmt: skip
    assert run.beyond is None
    assert run.name == "cal"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"facts": [], "traps": [], "absent": [], "beyond": [1]}, "no fact, trap or absent entry"),
        ({"facts": {}}, "cal.json facts: {}, expected a list"),
        ({"facts": None}, "facts: null, expected a list"),
        ({"facts": ["F1"]}, "facts[0]: 'F1', expected an object"),
        ({"facts": [{"verdict": "found"}]}, "facts[0].id"),
        ({"facts": [{"id": 1, "verdict": "found"}]}, "facts[0].id"),
        ({"facts": [{"id": "F1"}]}, "facts[0].verdict: null"),
        ({"facts": [{"id": "F1", "verdict": "maybe"}]}, "facts[0].verdict: 'maybe', expected one of found"),
        (
            {"traps": [{"id": "T1", "stored": "no", "verdict": "found"}]},
            "traps[0].stored: 'no', expected true or false",
        ),
        ({"traps": [{"id": "T1", "stored": False, "verdict": "odd"}]}, "traps[0].verdict"),
        ({"absent": [{"id": "f1", "verdict": "found"}]}, "item 'f1' twice"),
        ({"format": "calibration-score/2"}, "cal.json format: 'calibration-score/2', expected 'calibration-score/1'"),
        ({"run": None}, "cal.json run: null, expected a text"),
    ],
)
def test_a_calibration_score_that_cannot_be_read_is_refused(changes, text, tmp_path):
    with pytest.raises(KnownAnswerError) as caught:
        calibration(tmp_path, **changes)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "null",
        '"x"',
        "{",
        "{} x",
        "NaN",
        '{"format": Infinity}',
        "[" * 100_000,
        "1" * 5000,
        '{"a": 1, "a": 1}',
        "'x'",
        " ",
    ],
)
def test_json_is_read_strictly(text, tmp_path):
    with pytest.raises(KnownAnswerError) as caught:
        calibration(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_json_of_many_tiny_values_is_refused_before_it_takes_memory(tmp_path):
    with pytest.raises(KnownAnswerError, match="tiny values"):
        calibration(tmp_path, "[" + "[]," * 700_000 + "[]]")
    large = {"padding": ["a string of ordinary length, with [brackets], {braces} and, commas"] * 40_000}
    assert calibration(tmp_path, **large).name == "cal"
