"""The one reader of YAML: plain JSON out, dates as text, places that are right."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
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
        ("x: &x [1]\na: *x", [1]),
        ("x: &x {b: 1}\na: {<<: *x, c: 2}", {"b": 1, "c": 2}),
    ],
)
def test_scalars_are_what_they_look_like(text: str, value: Any) -> None:
    found = load_plain(text, "t.yaml")["a"]
    assert found == value
    assert type(found) is type(value)


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
