"""Turns pydantic's validation errors into faults with a place, what was found, what was expected and a remedy."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from enum import Enum
from typing import Any

from pydantic import BaseModel, ValidationError

from pytest_soclab.base.errors import Fault, nearest, quote
from pytest_soclab.reading.yaml_source import MAX_FAULTS, Document

Loc = tuple[str | int, ...]

CALL_TAG, FINDING_TAG = "<call>", "<finding>"
"""How pydantic names the two forms of a step in a place; a reader of the file never sees them."""

_A_CALL = "a step such as {call: siem.search, args: {query: …}}"
_FIELDS = {
    "id": "ATK- or BEN- and three or four digits, such as ATK-001",
    "version": "a whole number from 1 on",
    "title": "a text of 8 to 160 characters",
    "twin": "the id of a scenario, such as BEN-004",
    "atlas": "MITRE ATLAS technique ids, such as AML.T0051.001",
    "owasp": "OWASP ids, LLM01 to LLM10 or ASI01 to ASI10",
    "incident": "an incident's name: lower-case letters, digits and dashes",
    "tier": "a tier",
    "family": "a family",
    "gates": "mandatory gates",
    "from_level": "an authority level",
    "approver": "an approver",
    "given": "rows by table, such as siem.events: [ … ]",
    "variants": "variants by name, such as plain: {payload: …}",
    "agent": "a list of steps",
    "harness": "a list of harness steps",
    "legitimate": "a list of calls",
    "attack_succeeds_when": "oracles with their parameters, such as account_disabled: svc-backup",
    "call": "server.tool, such as siem.search",
    "args": "a mapping of arguments",
    "cites": "a list of evidence ids or tools",
    "stopped_by": "a reason in lower case with underscores, such as protected_asset",
    "from": "an offset such as +42m or +1h30m",
    "to": "an offset such as +42m or +1h30m",
    "opened": "an offset such as +42m or +1h30m",
    "verdict": "a verdict",
    "how": "a way to tamper",
    "algorithm": "an algorithm",
    "surface": "a table such as siem.events, or control_plane",
}
_ITEMS = {
    "agent": f"{_A_CALL} or {{finding: …}}",
    "legitimate": _A_CALL,
    "harness": "a step such as {step: replay_grant}",
    "variants": "a variant name of lower-case letters, digits and underscores",
    "atlas": "a MITRE ATLAS technique id, such as AML.T0051.001",
    "owasp": "an OWASP id, LLM01 to LLM10 or ASI01 to ASI10",
    "gates": "a mandatory gate",
    "cites": "an evidence id or a tool, as text",
}
_TYPES = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
}

Fields = Callable[[Sequence[str | int]], Iterable[str]]


def faults_of(
    error: ValidationError, model: type[BaseModel], document: Document, prefix: Loc = (), fields: Fields | None = None
) -> list[Fault]:
    """Return every fault of a validation error, in the order in which they stand in the file.

    `fields` returns the valid keys at a place below the validated value; without it they are `model`'s.
    """
    valid = fields or (lambda loc: fields_at(model, loc))
    items = error.errors(include_url=False)[:MAX_FAULTS]
    misspelt = {(*item["loc"][:-1], close) for item in items if (close := _misspelt(item, valid))}
    items = [item for item in items if item["type"] != "missing" or item["loc"] not in misspelt]
    faults = [_fault(item, valid, document, prefix) for item in items]
    unique = {str(fault): fault for fault in faults}
    return sorted(unique.values(), key=lambda fault: (fault.line, fault.column))


def _misspelt(item: Mapping[str, Any], valid: Fields) -> str:
    """Return the valid key that an unknown one is nearly, or an empty text."""
    if item["type"] != "extra_forbidden":
        return ""
    return next(iter(get_close_matches(str(item["loc"][-1]), list(valid(item["loc"][:-1])), 1, 0.5)), "")


def _fault(item: Mapping[str, Any], valid: Fields, document: Document, prefix: Loc) -> Fault:
    loc = tuple(part for part in item["loc"] if part not in (CALL_TAG, FINDING_TAG))
    is_key = bool(loc) and loc[-1] == "[key]"
    where = (*prefix, *(loc[:-1] if is_key else loc))
    if is_key:
        found = f"found {_shown(item['input'])}"
        return document.fault(where, found, _ITEMS.get(str(where[-2]), "another key"), "rename it")
    found, expected, remedy = _words(item, where, valid)
    return document.fault(where, found, expected, remedy)


def _words(item: Mapping[str, Any], where: Loc, valid: Fields) -> tuple[str, str, str]:
    value, kind, context = item["input"], item["type"], item.get("ctx", {})
    match kind:
        case "extra_forbidden":
            name = str(where[-1])
            return f"found the unknown key {quote(name)}", "", nearest(name, valid(item["loc"][:-1]))
        case "missing":
            name = str(where[-1])
            return "found nothing", _FIELDS.get(name, "a value"), f"add `{name}: …`"
        case "enum" | "literal_error":
            words = str(context.get("expected", "")).replace("'", "").replace(" or ", ", ").split(", ")
            return f"found {_shown(value)}", _expected(where) or "another word", nearest(str(value), words)
        case "string_pattern_mismatch":
            return f"found {_shown(value)}", _expected(where) or f"text of the form {context['pattern']}", ""
        case "value_error":
            found, _, remedy = str(context["error"]).partition("|")
            return f"found {found}", "", remedy
        case _:
            text = "the text " if isinstance(value, str) and kind in _TYPES else ""
            return f"found {text}{_shown(value)}", _expected(where) or _typed(item), _quotes(kind, value)


def _typed(item: Mapping[str, Any]) -> str:
    context = item.get("ctx", {})
    match item["type"]:
        case "greater_than_equal":
            return f"a number from {context['ge']:g} on"
        case "greater_than":
            return f"a number above {context['gt']:g}"
        case "string_too_short":
            return f"a text of at least {context['min_length']} characters"
        case "string_too_long":
            return f"a text of at most {context['max_length']} characters"
        case kind:
            return _TYPES.get(kind) or str(item["msg"]).removeprefix("Input should be ").lower()


def _quotes(kind: str, value: Any) -> str:
    """Return the remedy for a number or a flag that stands where text is expected."""
    return "put it in quotes" if kind == "string_type" and isinstance(value, int | float) else ""


def _expected(where: Loc) -> str:
    """Return what a field, or an item of a list, of that name holds, where the name says it."""
    last = where[-1] if where else ""
    if isinstance(last, int):
        return _ITEMS.get(str(where[-2]), "") if len(where) > 1 else ""
    return _FIELDS.get(last, "")


def _shown(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value}"
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case _:
            return quote(value)


def fields_at(model: type[BaseModel], loc: Sequence[str | int]) -> list[str]:
    """Return the valid keys of the model that stands at `loc` below `model`."""
    models: list[type[BaseModel]] = [model]
    for part in loc:
        if part in (CALL_TAG, FINDING_TAG):
            wanted = "call" if part == CALL_TAG else "finding"
            models = [m for m in models if wanted in m.model_fields] or models
        elif isinstance(part, str) and any(part in _aliases(m) for m in models):
            models = [inner for m in models if part in _aliases(m) for inner in _models_in(_aliases(m)[part])]
    return sorted({name for m in models for name in _aliases(m)})


def _aliases(model: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif not (isinstance(annotation, type) and issubclass(annotation, Enum)):
        for inner in typing.get_args(annotation):
            yield from _models_in(inner)
