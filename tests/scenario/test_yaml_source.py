"""The one reader of YAML: plain JSON out, dates as text, places that are right."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_soclab.base.errors import ScenarioError
from pytest_soclab.reading import yaml_source
from pytest_soclab.reading.yaml_source import dotted, load_plain, parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 2026-03-02T08:00:00Z", "2026-03-02T08:00:00Z"),
        ("a: 2026-03-02", "2026-03-02"),
        ("a: yes", "yes"),
        ("a: on", "on"),
        ("a: true", True),
        ("a: null", None),
        ("a:", None),
        ("a: ~", None),
        ("a: 12", 12),
        ("a: 1.5", 1.5),
        ("a: 1e3", 1000.0),
        ("a: +42m", "+42m"),
        ("a: 203.0.113.7", "203.0.113.7"),
        ("a: 12:30", "12:30"),
        ("a: '12'", "12"),
        ("a: !!str 12", "12"),
        ("a: 9007199254740992", 9007199254740992),
        ("a: >-\n  one\n  two", "one two"),
        ("a: 1_000", "1_000"),
        ("a: 1.5_5", "1.5_5"),
        ("a: 0b11", "0b11"),
        ("a: 0x_1f", "0x_1f"),
        ("a: 0x1f", 31),
        ("a: 0o17", 15),
        ("a: 017", 17),
        ("a: 190:20:30", "190:20:30"),
        ("a: .5", 0.5),
        ("a: =", "="),
        ("a: <<", "<<"),
        ("{a: user:alex.rivera}", "user:alex.rivera"),
        ("{a: 2001:db8::7}", "2001:db8::7"),
        ("{a: [10.0.0.1:443, 08:15]}", ["10.0.0.1:443", "08:15"]),
        ("%YAML 1.2\n---\na: yes", "yes"),
        ("a: b\t", "b"),
        ("a: b\tc\t# note", "b\tc"),
        ("a: b\t\n  c", "b c"),
        ("a:\tb", "b"),
        ('a: "\\u0085\\u2028\\u2029\\ufeff\\r"', "\x85\u2028\u2029\ufeff\r"),
        ("x: &x [1]\na: *x", [1]),
        ("x: &x {b: 1}\na: {<<: *x, c: 2}", {"b": 1, "c": 2}),
    ],
)
@pytest.mark.parametrize("c_scanner", [True, False])
def test_scalars_are_what_they_look_like(
    text: str, value: Any, c_scanner: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_source, "HAS_FAST", c_scanner)
    found = load_plain(text, "t.yaml")["a"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: {?x: 1}", "1:5: found ? before 'x'"),
        ("a: [?x, y]", "1:5: found ? before 'x'"),
        ("a: [x:,y]", "1:5: found the text 'x:'"),
        ("a: {x:}", "1:5: found the text 'x:'"),
        ("a: {b: x, c: d:}", "1:14: found the text 'd:'"),
        ("a: [1]#c", "1:7: found # right behind a value"),
        ('a: "Mail room."# Turn it off', "1:16: found # right behind a value"),
        ("a: 'x'# c", "1:7: found # right behind a value"),
        ('a: "one\n  two"# c', "2:7: found # right behind a value"),
        ("a:\n  - {x: [1]}# c", "2:13: found # right behind a value"),
    ],
)
@pytest.mark.parametrize("c_scanner", [True, False])
def test_a_mark_that_touches_a_text_is_refused(
    text: str, place: str, c_scanner: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_source, "HAS_FAST", c_scanner)
    with pytest.raises(ScenarioError) as raised:
        parse(text, "t.yaml")
    assert f"t.yaml:{place}" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: ?x", "?x"),
        ("a: 'say \"x\"# c'", 'say "x"# c'),
        ('a: say "x"# c', 'say "x"# c'),
        ("a: x ]# y", "x ]# y"),
        ('a: |\n  "x"# c\n  [1]# d', '"x"# c\n[1]# d'),
        ("a: {b: user:x}", {"b": "user:x"}),
        ("a: {'b:': 1}", {"b:": 1}),
        ('a: ["b:",c]', ["b:", "c"]),
        ("a: 'b:'  # c", "b:"),
    ],
)
@pytest.mark.parametrize("c_scanner", [True, False])
def test_the_same_characters_within_a_text_are_text(
    text: str, value: Any, c_scanner: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_source, "HAS_FAST", c_scanner)
    assert load_plain(text, "t.yaml")["a"] == value


@pytest.mark.parametrize("keys", ["null: 1\n~: 2", "1: x\n0x1: y", "true: x\nTrue: y"])
def test_two_spellings_of_one_key_are_a_fault_and_never_none(keys: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        parse(f"id: x\n{keys}\n", "t.yaml")
    assert raised.value.faults
    assert "t.yaml:3:1: " in str(raised.value)


def test_an_error_is_never_without_a_fault() -> None:
    assert str(ScenarioError()) == "failed without a reason"


TEXT = """\
id: ATK-001
given:
  siem.events:
    - {id: e1, message: "x"}
    - id: e2
      message: y
empty: {}
"""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ((), (1, 1)),
        (("id",), (1, 1)),
        (("given",), (2, 1)),
        (("given", "siem.events"), (3, 3)),
        (("given", "siem.events", 0), (4, 7)),
        (("given", "siem.events", 0, "message"), (4, 16)),
        (("given", "siem.events", 1, "message"), (6, 7)),
        (("given", "siem.events", 7), (3, 3)),
        (("given", "siem.events", 1, "nothing"), (5, 7)),
        (("missing", "deeper"), (1, 1)),
        (("empty", "x"), (7, 1)),
        (("id", "x", 3), (1, 1)),
    ],
)
def test_a_place_is_that_of_the_key_or_of_the_nearest_parent(path: tuple[Any, ...], place: tuple[int, int]) -> None:
    assert parse(TEXT, "t.yaml").place(path) == place


def test_paths_are_written_with_dots_and_brackets() -> None:
    assert dotted(("agent", 1, "args", "user")) == "agent[1].args.user"
    assert dotted(()) == ""


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(min_size=1), json_values, min_size=1, max_size=5))
def test_json_is_read_as_it_is(value: dict[str, Any]) -> None:
    text = json.dumps(value)  # JSON is YAML; the escapes keep control characters out of the text
    if "<<" in text or "\\ud" in text:
        return  # a merge key means something else in YAML, and a half of a surrogate pair nothing
    assert load_plain(text, "t.yaml") == value


@pytest.mark.parametrize(
    "number", [".nan", ".inf", "-.inf", "9007199254740993", "-9007199254740993", "0x7fffffffffffffff"]
)
def test_numbers_that_json_lacks_are_refused(number: str) -> None:
    with pytest.raises(ScenarioError, match=r"t\.yaml:1:1 a: found the number .*, expected a "):
        parse(f"a: {number}", "t.yaml")


def test_no_value_is_not_finite() -> None:
    assert math.isfinite(load_plain("a: 1e300", "t.yaml")["a"])


def test_no_more_faults_are_listed_than_anybody_reads() -> None:
    with pytest.raises(ScenarioError) as error:
        parse("\n".join(f"k{n}: .nan" for n in range(1000)), "t.yaml")
    assert len(error.value.faults) == yaml_source.MAX_FAULTS


@pytest.mark.parametrize("typo", ["a: [1, 2", "a: {b: 1", "a: 'b"])
def test_what_does_not_end_is_shown_where_it_starts(typo: str) -> None:
    with pytest.raises(ScenarioError, match=r"t\.yaml:3:4: "):
        parse(f"x: 1\n\n{typo}\ny: 2\n\nz: 3\n", "t.yaml")


@pytest.mark.parametrize(
    "text", ["note: one{}more: two", 'note: "one{}two"', "note: |\n  one{}two", "# one{}note: two"]
)
@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\u2029", "\r", "\ufeff", "\x0b", "\x0c", "\x1c"])
def test_what_ends_a_line_for_some_readers_alone_is_refused_with_its_place(text: str, mark: str) -> None:
    """A key behind such a character is one that nobody sees; within quotes the two scanners read it in two ways."""
    before = text.partition("{}")[0]
    place = f"{before.count(chr(10)) + 1}:{len(before.rpartition(chr(10))[2]) + 1}"
    expected = rf"t\.yaml:{place}: found the control character U\+{ord(mark):04X}.*an escape in quotes"
    with pytest.raises(ScenarioError, match=expected):
        parse(text.format(mark), "t.yaml")


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("%YAML 1.1\n---\n", 1),
        ("# x\n\n%YAML 1.3\n---\n", 3),
        ("%TAG ! tag:x,2000:\n---\n", 1),
        ("%YAML 1.2\n%X\n---\n", 2),
    ],
)
@pytest.mark.parametrize("c_scanner", [True, False])
def test_directives_that_change_what_a_text_means_are_refused(
    head: str, line: int, c_scanner: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_source, "HAS_FAST", c_scanner)
    with pytest.raises(ScenarioError, match=rf"t\.yaml:{line}:1: found a directive .*take the .*line out"):
        parse(f"{head}a: yes\n", "t.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a: "\\UFFFFFFFF"', r"1:5: found the escape \\UFFFFFFFF, which is no character"),
        ('a: b\nc: "x\\U00110000"', r"2:6: found the escape \\U00110000"),
        ('a: "\\ud800"', "1:1 a: found half of a character"),
        ('"a\\udfff": 1', "found the key .* with half of a character"),
        (f"a: 0x{'f' * 9000}", "1:4: found a number of more than 40 digits"),
        (f"a: {'9' * 9000}", "1:4: found a number of more than 40 digits"),
        (f"{'9' * 900}: 1", "1:1: found a number of more than 40 digits"),
        (f"a: [0x{'f' * 38}]", r"1:5 a\[0\]: found the number \d+, expected a whole number within"),
    ],
)
@pytest.mark.parametrize("c_scanner", [True, False])
def test_odd_escapes_and_numbers_are_refused_without_a_traceback(
    text: str, message: str, c_scanner: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_source, "HAS_FAST", c_scanner)
    with pytest.raises(ScenarioError, match=message):
        parse(text, "t.yaml")


def result(text: str, c_scanner: bool) -> Any:
    """Return the value of a text with one scanner, or the message."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_source, "HAS_FAST", c_scanner)
        try:
            return parse(text, "t.yaml").value
        except ScenarioError as error:
            return str(error)


WORDS = [
    "~",
    "a",
    "é",
    "//",
    "user:x",
    "1.5",
    "0x1",
    "1_0",
    "<<",
    "=",
    "{{p}}",
    "*a",
    "&a",
    "!!str",
    "\\x41",
    "😀",
    "...",
    '"x"',
]
MARKS = [
    "\t",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\xa0",
    " #",
    ": ",
    "? ",
    "- ",
    "|\n",
    "|2",
    "\n---\n",
    "\n...\n",
    "a: b\n",
    "  c: d\n",
]
PIECES = st.sampled_from([*WORDS, *MARKS, *":-{}[],'\"#|>!%@`\\"])


@settings(max_examples=400, deadline=None)
@given(st.booleans(), st.lists(PIECES, max_size=14))
def test_one_result_comes_out_with_the_c_scanner_and_without(mapped: bool, pieces: list[str]) -> None:
    text = ("a: " if mapped else "") + "".join(pieces)
    assert result(text, True) == result(text, False)
