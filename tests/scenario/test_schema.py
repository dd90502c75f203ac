"""The JSON Schemas: every bundled file is valid, and what is wrong in shape is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_soclab.base import resources
from pytest_soclab.base.errors import ScenarioError
from pytest_soclab.cli import authoring
from pytest_soclab.cli.main import main
from pytest_soclab.reading.yaml_source import read

from .support import BAD, lab
from .test_bad_inputs import file_name

SEMANTIC = {
    "id_other_than_file", "incident_answer_cleared_foreign", "incident_answer_compromised_cleared",
    "incident_answer_culprit_not_guilty",
    "incident_answer_culprit_unknown", "incident_answer_decoy_unknown", "incident_answer_evidence_foreign",
    "incident_answer_evidence_is_decoy", "incident_answer_evidence_unknown", "incident_answer_response_refused",
    "incident_answer_response_unknown_tool", "incident_answer_technique_unknown",
    "incident_id_other_than_file", "incident_row_twice", "incident_row_without_key",
    "incident_start_malformed", "incident_start_without_zone", "incident_unknown", "payload_not_delivered",
    "row_field_unknown", "row_field_wrong_type", "row_offset_malformed", "row_twice", "row_without_key",
    "template_arithmetic", "template_attribute", "template_broken", "template_call", "template_comment",
    "template_filter", "template_misplaced", "template_raw", "template_statement", "template_step_zero",
    "template_white_space", "template_unknown_field", "tool_unknown",
    "variant_field_unused", "variant_payload_blank", "variants_unequal",
}  # fmt: skip
"""Bad inputs whose fault is not one of shape; a schema cannot see it."""


def validator(name: str) -> Any:
    schema = json.loads(authoring.schema(name).text)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def plain(path: Path) -> Any:
    return read(path, limit=1 << 30).value


@pytest.mark.parametrize("name", list(authoring.SCHEMAS))
def test_each_schema_is_one(name: str) -> None:
    validator(name)


def test_every_bundled_file_is_valid() -> None:
    scenario, incident = validator("scenario"), validator("incident")
    files = sorted(resources.scenarios().rglob("*.yaml"))
    assert len(files) > 6
    for path in files:
        check = incident if path.parent.name == "incidents" else scenario
        assert [error.message for error in check.iter_errors(plain(path))] == [], path.name


def test_bad_inputs_of_shape_are_refused() -> None:
    checks = {True: validator("incident"), False: validator("scenario")}
    passed = set()
    for bad in BAD.glob("*.yaml"):
        try:
            value = plain(bad)
        except ScenarioError:
            continue
        if checks[file_name(bad) == "bad-incident.yaml"].is_valid(value):
            passed.add(bad.stem)
    assert passed == SEMANTIC


def test_the_closed_sets_are_typed() -> None:
    schema = json.loads(authoring.schema("scenario").text)
    wanted = schema["properties"]["attack_succeeds_when"]
    assert set(wanted["properties"]) == set(lab().oracles)
    assert wanted["additionalProperties"] is False
    assert all(oracle["description"] for oracle in wanted["properties"].values())
    steps = schema["properties"]["harness"]["items"]
    assert set(steps["discriminator"]["mapping"]) == set(lab().steps)
    assert len(steps["oneOf"]) == len(lab().steps)
    assert "AML.T0051.001" in schema["properties"]["atlas"]["items"]["enum"]


def test_the_command_prints_what_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"].startswith("A scenario")
    assert main(["schema", "decision-input"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "DecisionInput"
    with pytest.raises(SystemExit) as exit_:
        main(["schema", "scenari"])
    assert exit_.value.code == 2
