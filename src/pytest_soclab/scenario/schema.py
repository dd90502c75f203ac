"""The JSON Schema of scenario and incident files, for editors: the closed sets of a session stand in it, typed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pytest_soclab.scenario import techniques
from pytest_soclab.scenario.model import Incident, Scenario
from pytest_soclab.scenario.vocabulary import Vocabulary

Json = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def scenario_schema(vocabulary: Vocabulary, tables: Iterable[str], oracles: Mapping[str, str]) -> Json:
    """Return the schema of a scenario file; `oracles` holds what each oracle sees, by name."""
    schema = _plain(Scenario.model_json_schema(by_alias=True))
    properties = schema["properties"]
    properties["attack_succeeds_when"] = _oracles(vocabulary, oracles, schema)
    properties["harness"] = _harness(vocabulary, schema)
    properties["given"]["propertyNames"] = {"enum": sorted(tables)}
    properties["variants"]["minProperties"] = 1
    for field in ("atlas", "owasp"):
        known = techniques.known(field)
        properties[field]["items"] = {"enum": list(known), "description": techniques.edition(field)}
    call = schema["$defs"]["ToolCall"]["properties"]["call"]
    call["anyOf"] = [{"enum": sorted(vocabulary.tools)}, {"pattern": call.pop("pattern")}]
    schema["allOf"] = [_kinds()]
    return _headed(schema, "A scenario: one attack (ATK-…) or one benign control (BEN-…)")


def incident_schema(tables: Iterable[str]) -> Json:
    """Return the schema of an incident file."""
    schema = _plain(Incident.model_json_schema(by_alias=True))
    schema["properties"]["tables"]["propertyNames"] = {"enum": sorted(tables)}
    return _headed(schema, "An incident: the SOC world that scenarios play in")


def _headed(schema: Json, title: str) -> Json:
    return {"$schema": DIALECT, **schema, "title": title}


def _plain(schema: Json) -> Json:
    """Return the schema with every pattern of keys closed: pydantic leaves keys of another form open."""
    for value in [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]:
        if "patternProperties" in value:
            value["additionalProperties"] = False
    return schema


def _oracles(vocabulary: Vocabulary, described: Mapping[str, str], schema: Json) -> Json:
    """Return what each oracle takes; the models of their parameters join the definitions."""
    properties = {}
    for name in sorted(vocabulary.oracles):
        parameter = vocabulary.oracles[name].json_schema()
        schema.setdefault("$defs", {}).update(parameter.pop("$defs", {}))
        properties[name] = {**parameter, "description": described.get(name, "")}
    return {"type": "object", "additionalProperties": False, "minProperties": 1, "properties": properties}


def _harness(vocabulary: Vocabulary, schema: Json) -> Json:
    """Return a union of the harness steps that the key `step` tells apart; their models join the definitions."""
    definitions = schema.setdefault("$defs", {})
    mapping = {}
    for name, model in vocabulary.harness.items():
        own = model.model_json_schema(ref_template=f"#/$defs/{name}.{{model}}")
        definitions.update({f"{name}.{inner}": value for inner, value in own.pop("$defs", {}).items()})
        definitions[name] = own
        mapping[name] = f"#/$defs/{name}"
    steps: Json = {
        "oneOf": [{"$ref": place} for place in mapping.values()],
        "discriminator": {"propertyName": "step", "mapping": mapping},
    }
    return {"type": "array", "items": steps}


def _kinds() -> Json:
    """Return what an attack must have and a control must not, and the other way round."""
    attack = {
        "required": ["attack_succeeds_when", "stopped_by"],
        "anyOf": [{"required": ["agent"]}, {"required": ["harness"]}],
    }
    control = {
        "required": ["agent", "legitimate"],
        "not": {"anyOf": [{"required": [key]} for key in ("attack_succeeds_when", "stopped_by", "harness")]},
    }
    return {"if": {"properties": {"id": {"pattern": "^ATK-"}}}, "then": attack, "else": control}
