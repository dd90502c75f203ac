"""The part of the SARIF 2.1.0 schema that we use, written from the standard's text (sections 3.13 to 3.49).

Stricter than the standard where that helps: properties that we never write are refused.
"""

from __future__ import annotations

from typing import Any


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


_TEXT = {"type": "string", "minLength": 1}
_MESSAGE = _object(["text"], text=_TEXT)
_TAGS = {"type": "array", "items": _TEXT, "uniqueItems": True}
_SEVERITY = {"type": "string", "pattern": r"^\d+\.\d$"}
_PROPERTIES = _object(["tags"], tags=_TAGS, precision={"enum": ["high"]}, **{"security-severity": _SEVERITY})
_RULE = _object(["id"], id=_TEXT, shortDescription=_MESSAGE, help=_MESSAGE, properties=_PROPERTIES)
_DRIVER = _object(["name"], name=_TEXT, version=_TEXT, rules={"type": "array", "items": _RULE, "uniqueItems": True})
_ARTIFACT = _object(["uri"], uri={"type": "string", "format": "uri-reference"}, uriBaseId=_TEXT)
_REGION = _object(["startLine"], startLine={"type": "integer", "minimum": 1})
_LOCATION = _object([], physicalLocation=_object(["artifactLocation"], artifactLocation=_ARTIFACT, region=_REGION))
_RESULT = _object(
    ["message"],
    ruleId=_TEXT,
    ruleIndex={"type": "integer", "minimum": -1},
    level={"enum": ["none", "note", "warning", "error"]},
    message=_MESSAGE,
    locations={"type": "array", "items": _LOCATION},
    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
)
_RUN = _object(
    ["tool", "results"],
    tool=_object(["driver"], driver=_DRIVER),
    automationDetails=_object([], id=_TEXT),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results={"type": "array", "items": _RESULT},
)
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **_object(
        ["version", "runs"],
        **{"$schema": {"type": "string"}},
        version={"const": "2.1.0"},
        runs={"type": "array", "items": _RUN},
    ),
}
