"""Messages quote foreign text safely, name the nearest valid word, and have one form."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_soclab.base.errors import Fault, ScenarioError, SoclabError, UsageError, nearest, printable, quote

HOSTILE = {
    "\x1b[31mred": "\\x1b[31mred",
    "\x1b]0;title\x07": "\\x1b]0;title\\x07",
    "a\rb": "a\\rb",
    "a\nb": "a\\nb",
    "a\x00b": "a\\x00b",
    "\x9b31m": "\\x9b31m",
    "user\u202etxt.exe": "user\\u202etxt.exe",
    "\u2066isolate\u2069": "\\u2066isolate\\u2069",
    "zero\u200bwidth": "zero\\u200bwidth",
    "\ufeffbom": "\\ufeffbom",
    "line\u2028separator": "line\\u2028separator",
    "\ud800": "\\ud800",
    "\U000e0041tag": "\\U000e0041tag",
    "naïma 東京 🙂": "naïma 東京 🙂",
    "": "",
}


@pytest.mark.parametrize(("text", "shown"), HOSTILE.items())
def test_text_that_could_steer_a_terminal_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_what_is_printable_has_no_control_or_reordering_character(text: str) -> None:
    shown = printable(text)
    assert not {unicodedata.category(c) for c in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert printable(shown) == shown
    assert "\n" not in str(Fault(text, text, 1, 1, text, text, text))


def test_a_quote_is_one_short_line() -> None:
    assert quote("plain") == "'plain'"
    assert quote("it's") == '"it\'s"'
    assert quote("\x1b[0m") == "'\\x1b[0m'"
    assert quote(3) == "'3'"
    assert quote("x" * 120) == f"'{'x' * 120}'"
    assert quote("x" * 121) == f"'{'x' * 120}'… (121 characters)"
    assert len(quote("\U000e0041" * 1_000_000)) < 1300


def test_the_nearest_name_comes_first_and_then_all() -> None:
    assert nearest("teir", ["title", "tier", "tier"]) == "did you mean 'tier'? valid: tier, title"
    assert nearest("zzz", ["b", "a"]) == "valid: a, b"
    assert nearest("", []) == "no name is valid here"


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (Fault("found x"), "found x"),
        (Fault("found x", "f.yaml"), "f.yaml: found x"),
        (Fault("found x", "f.yaml", 3), "f.yaml:3: found x"),
        (Fault("found x", "f.yaml", 3, 7, "a.b", "y", "mend it"), "f.yaml:3:7 a.b: found x, expected y; mend it"),
        (Fault("found x", field="a"), "a: found x"),
        (Fault("found x", remedy="mend it"), "found x; mend it"),
    ],
)
def test_a_fault_is_one_sentence(fault: Fault, text: str) -> None:
    assert str(fault) == text


def test_an_error_holds_all_its_faults_and_is_of_one_tree() -> None:
    error = ScenarioError(Fault("found x", "a.yaml"), "a plain sentence")
    assert str(error) == "a.yaml: found x\na plain sentence"
    assert [fault.found for fault in error.faults] == ["found x", "a plain sentence"]
    assert isinstance(error, SoclabError)
    assert not isinstance(error, UsageError)
