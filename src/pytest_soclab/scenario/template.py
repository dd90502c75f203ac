"""Payload templates: text that may name a variant's fields, and slices of them, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from jinja2 import Template, TemplateSyntaxError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pytest_soclab.base.errors import nearest

_ALLOWED = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.Name,
    nodes.Getitem,
    nodes.Slice,
    nodes.Const,
    nodes.Neg,
)


_CONSTRUCTS = {
    "Filter": "a filter",
    "Call": "a call",
    "Getattr": "an attribute",
    "For": "a loop",
    "If": "a condition",
    "CondExpr": "a condition",
    "Assign": "an assignment",
    "Test": "a test",
    "Compare": "a comparison",
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow", "Concat"), "arithmetic"),
    **dict.fromkeys(("Include", "Import", "FromImport", "Extends", "Block", "Macro", "CallBlock"), "another template"),
}


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(autoescape=False, keep_trailing_newline=True)


def is_template(text: str) -> bool:
    """Tell whether the text holds template marks."""
    return "{{" in text or "{%" in text or "{#" in text


@lru_cache(4096)
def _parsed(text: str) -> nodes.Template:
    return _environment().parse(text)


def problem(text: str, fields: Mapping[str, str] | frozenset[str]) -> tuple[str, str]:
    """Return what is wrong with a template and the remedy, or two empty texts.

    `fields` are the names that every variant has.
    """
    try:
        tree = _parsed(text)
    except TemplateSyntaxError as error:
        return (
            f"a broken template ({str(error.message).rstrip('.')})",
            "write {{ field }}, or {{ field[:20] }} for a part of it",
        )
    for node in tree.find_all(nodes.Node):
        if not isinstance(node, _ALLOWED):
            found = f"a template with {_CONSTRUCTS.get(type(node).__name__, 'more than a field')}"
            return found, "a template may only name a variant's fields and slices of them"
    unknown = next((name for name in names(text) if name not in fields), None)
    if unknown is not None:
        return f"the unknown template field {unknown!r}", nearest(
            unknown, fields
        ) if fields else "no variant has fields"
    return "", ""


@lru_cache(4096)
def names(text: str) -> tuple[str, ...]:
    """Return the fields that a readable template names, in order."""
    return tuple(node.name for node in _parsed(text).find_all(nodes.Name)) if is_template(text) else ()


@lru_cache(4096)
def _compiled(text: str) -> Template:
    return _environment().from_string(text)


def render(value: Any, fields: Mapping[str, str]) -> Any:
    """Return a copy of a JSON value with every template in its texts rendered."""
    if isinstance(value, str):
        return _compiled(value).render(fields) if is_template(value) else value
    if isinstance(value, Mapping):
        return {key: render(inner, fields) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [render(inner, fields) for inner in value]
    return value


def templates_in(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield every text with template marks in a JSON value, with its path."""
    if isinstance(value, str):
        if is_template(value):
            yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from templates_in(inner, (*path, key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from templates_in(inner, (*path, index))
