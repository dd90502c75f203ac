"""A payload template names fields and slices of them; nothing in it runs."""

from __future__ import annotations

import re

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
        ("{{ payload[::2] }}|{{ payload[2::-1] }}", "dsbescbcu|sid"),
        ("{{ payload[99] }}|{{ payload[-99] }}|{{ other[-1] }}", "||x"),
        ("X-A: 1\r\nX-B: {{ other }}\r", "X-A: 1\r\nX-B: x\r"),
        ("{{\tother\n}} }} {x} %} #}", "x }} {x} %} #}"),
        ("{ {payload} }", "{ {payload} }"),
    ],
)
def test_what_a_template_may_do(text: str, rendered: str) -> None:
    assert template.problem(text, frozenset(FIELDS)) == ("", "")
    assert template.render(text, FIELDS) == rendered


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("{{ payload.__class__ }}", "'{{ payload.__class__ }}'"),
        ("{{ payload['__class__'].mro() }}", "mro()"),
        ("{{ payload|attr('x') }}", "|attr"),
        ("{{ ''.join(payload) }}", "join(payload)"),
        ("{{ '<b>' }}", "<b>"),
        ("{% include 'x' %}", "a template block"),
        ("{% for i in payload %}{{ other }}{% endfor %}", "a template block"),
        ("{% raw %}{{ other }}{% endraw %}", "a template block"),
        ("{%- payload %}", "a template block"),
        ("{# a note #}{{ other }}", "a template comment"),
        ("Ticket {# 7 #} closed", "a template comment"),
        ("from  {{- payload -}}  to", "'{{- payload -}}'"),
        ("from  {{+ payload }}  to", "'{{+ payload }}'"),
        ("{{ payload if other }}", "payload if other"),
        ("{{ 9 ** 999999 }}", "9 ** 999999"),
        ("{{ payload ~ other }}", "payload ~ other"),
        ("{{ [payload, other] }}", "[payload, other]"),
        ("{{ payload == other }}", "payload == other"),
        ("{{ payload[nobody] }}", "payload[nobody]"),
        ("{{ other }}{{ payload[::00] }}", "a template whose step is 0"),
        ("{{ payload[9999999999] }}", "payload[9999999999]"),
        ("{{ {{ payload }} }}", "'{{ {{ payload }}'"),
        ("{{ payload", "a template without its end"),
        ("{{ }}", "'{{ }}'"),
        ("{{ payload[::0] }}", "a template whose step is 0"),
        ("{{ other }}{{ payload[1:2:-0] }}", "a template whose step is 0"),
        ("{{ nobody }}", "the unknown template field 'nobody'"),
        ("{{ self }}", "the unknown template field 'self'"),
        ("{{ range }}", "the unknown template field 'range'"),
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


@given(st.text(alphabet="{}%#-+ \r\npx[:0]"))
def test_what_is_taken_stays_as_it_is_around_its_marks(text: str) -> None:
    """Nothing but a mark changes: taking the marks out of text and result leaves the same."""
    if template.problem(text, {"p": "P", "x": "P"})[0]:
        return
    around = re.split(r"\{\{.*?\}\}", text, flags=re.DOTALL)
    assert re.fullmatch("P?".join(map(re.escape, around)), template.render(text, {"p": "P", "x": "P"}))
