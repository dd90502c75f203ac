"""A payload template names fields and slices of them; nothing in it runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_soclab.scenario import template

FIELDS = {"payload": "disable svc-backup", "other": "x"}


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("plain text", "plain text"),
        ("{{ payload }}", "disable svc-backup"),
        ("a {{payload}} b {{ other }}", "a disable svc-backup b x"),
        ("{{ payload[:7] }}|{{ payload[8:] }}", "disable|svc-backup"),
        ("{{ payload[-6:] }}", "backup"),
        ("{{ payload[0] }}", "d"),
        ("ends with a line\n{{ other }}\n", "ends with a line\nx\n"),
        ("{# a note #}{{ other }}", "x"),
        ("{{ '<b>' }}", "<b>"),
        ("{ {payload} }", "{ {payload} }"),
    ],
)
def test_what_a_template_may_do(text: str, rendered: str) -> None:
    assert template.problem(text, frozenset(FIELDS)) == ("", "")
    assert template.render(text, FIELDS) == rendered


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("{{ payload.__class__ }}", "an attribute"),
        ("{{ payload['__class__'].mro() }}", "a call"),
        ("{{ payload|attr('x') }}", "a filter"),
        ("{{ ''.join(payload) }}", "a call"),
        ("{% include 'x' %}", "another template"),
        ("{% import 'x' as y %}", "another template"),
        ("{% set x = 1 %}", "an assignment"),
        ("{% if payload %}x{% endif %}", "a condition"),
        ("{{ payload if other }}", "a condition"),
        ("{% for i in payload %}{% endfor %}", "a loop"),
        ("{% macro m() %}{% endmacro %}", "another template"),
        ("{% block b %}{% endblock %}", "another template"),
        ("{{ 9 ** 999999 }}", "arithmetic"),
        ("{{ payload ~ other }}", "arithmetic"),
        ("{{ [payload, other] }}", "more than a field"),
        ("{{ payload is defined }}", "a test"),
        ("{{ payload == other }}", "a comparison"),
        ("{% raw %}{{ x }}{% endraw %}{{ range(9) }}", "a call"),
        ("{{ payload", "a broken template"),
        ("{% payload %}", "a broken template"),
        ("{{ }}", "a broken template"),
        ("{{ nobody }}", "the unknown template field 'nobody'"),
        ("{{ self }}", "the unknown template field 'self'"),
        ("{{ range }}", "the unknown template field 'range'"),
        ("{{ payload[nobody] }}", "the unknown template field 'nobody'"),
    ],
)
def test_what_a_template_may_not_do(text: str, word: str) -> None:
    found, remedy = template.problem(text, frozenset(FIELDS))
    assert word in found
    assert remedy


def test_the_nearest_field_is_named() -> None:
    assert template.problem("{{ paylaod }}", frozenset(FIELDS))[1].startswith("did you mean 'payload'?")
    assert template.problem("{{ x }}", frozenset())[1] == "no variant has fields"


@given(st.text())
def test_a_field_is_text_and_never_a_template(text: str) -> None:
    assert template.render("<{{ payload }}>", {"payload": text}) == f"<{text}>"


@given(st.text())
def test_any_template_is_refused_or_rendered(text: str) -> None:
    found, _ = template.problem(text, frozenset(FIELDS))
    if not found:
        assert isinstance(template.render(text, FIELDS), str)


def test_only_texts_of_a_value_are_rendered_and_all_are_found() -> None:
    value = {"a": ["{{ other }}", 3, None, True], "b": {"c": ("{{ payload }}", "y")}}
    assert template.render(value, FIELDS) == {"a": ["x", 3, None, True], "b": {"c": ["disable svc-backup", "y"]}}
    assert [path for path, _ in template.templates_in(value)] == [("a", 0), ("b", "c", 0)]
    assert template.names("{{ payload }}{{ other[:2] }}{{ payload }}") == ("payload", "other", "payload")
