"""Turns pydantic's validation errors into faults with a place, what was found, what was expected and a remedy."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from pydantic import BaseModel, ValidationError

from pytest_soclab.errors import Fault, nearest, quote
from pytest_soclab.scenario.model import CALL_TAG, FINDING_TAG
from pytest_soclab.scenario.yaml_source import Document

Loc = tuple[str | int, ...]

_PATTERNS = {
    "id": "ATK- or BEN- and three or four digits, such as ATK-001",
    "twin": "the id of a scenario, such as BEN-004",
    "atlas": "a MITRE ATLAS technique id, such as AML.T0051.001",
    "owasp": "an OWASP id, LLM01 to LLM10 or ASI01 to ASI10",
    "incident": "lower-case letters, digits and dashes",
    "variants": "a variant name of lower-case letters, digits and underscores",
    "call": "server.tool, such as siem.search",
    "stopped_by": "a reason in lower case with underscores",
    "from": "an offset such as +42m or +1h30m",
    "to": "an offset such as +42m or +1h30m",
    "opened": "an offset such as +42m or +1h30m",
    "surface": "a table such as siem.events, or control_plane",
}


def faults_of(error: ValidationError, model: type[BaseModel], document: Document, prefix: Loc = ()) -> list[Fault]:
    """Return every fault of a validation error, in the order in which they stand in the file."""
    faults = [_fault(item, model, document, prefix) for item in error.errors(include_url=False)]
    unique = {str(fault): fault for fault in faults}
    return sorted(unique.values(), key=lambda fault: (fault.line, fault.column))


def _fault(item: Mapping[str, Any], model: type[BaseModel], document: Document, prefix: Loc) -> Fault:
    loc = tuple(part for part in item["loc"] if part not in (CALL_TAG, FINDING_TAG))
    is_key = bool(loc) and loc[-1] == "[key]"
    loc = loc[:-1] if is_key else loc
    found, expected, remedy = _words(item, model, loc)
    return document.fault((*prefix, *loc), found, expected, remedy)


def _words(item: Mapping[str, Any], model: type[BaseModel], loc: Loc) -> tuple[str, str, str]:
    value, kind = item["input"], item["type"]
    names = [part for part in loc if isinstance(part, str)]
    match kind:
        case "extra_forbidden":
            return f"unknown key {quote(str(loc[-1]))}", "", nearest(str(loc[-1]), fields_at(model, item["loc"][:-1]))
        case "missing":
            return "nothing", f"the key {str(loc[-1])!r}", "add it"
        case "enum" | "literal_error":
            valid = str(item.get("ctx", {}).get("expected", "")).replace("'", "").replace(" or ", ", ").split(", ")
            return f"found {quote(value)}", "one of the valid words", nearest(str(value), valid)
        case "string_pattern_mismatch":
            hint = next((_PATTERNS[name] for name in reversed(names) if name in _PATTERNS), "")
            return f"found {quote(value)}", hint or str(item["ctx"]["pattern"]), ""
        case "value_error":
            found, _, remedy = str(item["ctx"]["error"]).partition("|")
            return found, "", remedy
        case _:
            return f"found {quote(_short(value))}", _sentence(str(item["msg"])), ""


def _sentence(message: str) -> str:
    text = message.removeprefix("Input should be ").removeprefix("Input should ").removeprefix("have ")
    return text[:1].lower() + text[1:]


def _short(value: Any) -> Any:
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return "nothing" if value is None else value


def fields_at(model: type[BaseModel], loc: Sequence[str | int]) -> list[str]:
    """Return the valid keys of the model that stands at `loc` below `model`."""
    models: list[type[BaseModel]] = [model]
    for part in loc:
        if part == CALL_TAG or part == FINDING_TAG:
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
