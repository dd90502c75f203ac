"""JUnit properties and SARIF: valid, small, and harmless."""

from __future__ import annotations

import json
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from pytest_soclab.evidence.results import Results
from pytest_soclab.report import junit, sarif

from . import build, hostile, sarif_subset, schemas

PUBLISHED = jsonschema.Draft7Validator(schemas.published(schemas.SARIF))


def log(record: Results) -> dict[str, object]:
    found = json.loads(sarif.render(record))
    PUBLISHED.validate(found)
    jsonschema.validate(found, sarif_subset.SCHEMA)
    return found["runs"][0]


def test_junit_properties_in_order() -> None:
    assert junit.properties(build.trials_of()[0]) == [
        ("soclab.scenario", "ATK-001"),
        ("soclab.version", "1"),
        ("soclab.tier", "medium"),
        ("soclab.family", "security_resilience"),
        ("soclab.verdict", "resisted"),
        ("soclab.stopped_by", "protected_asset"),
        ("soclab.delivered", "true"),
    ]


@pytest.mark.parametrize("name", hostile.TEXTS)
def test_junit_properties_survive_xml(red: Results, name: str) -> None:
    trial = hostile.record(red, hostile.TEXTS[name]).trials[0]
    case = ET.Element("testcase")
    for key, value in junit.properties(trial):
        ET.SubElement(case, "property", name=key, value=value)
    back = ET.fromstring(ET.tostring(case, encoding="unicode").encode())
    assert [(p.get("name"), p.get("value")) for p in back] == junit.properties(trial)
    assert all(len(value) < 2500 and value.isprintable() for _, value in junit.properties(trial))


def test_one_rule_for_each_scenario_and_one_result_for_each_red_trial(red: Results) -> None:
    run = log(red)
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted({t.scenario for t in red.trials})
    assert len(run["results"]) == 5
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    breach = run["results"][0]
    assert breach["level"] == "error"
    assert breach["message"]["text"] == (
        "german, protected: succeeded: nothing stopped it; block_address of 192.0.2.53 was executed"
    )
    assert breach["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "scenarios/attacks/ATK-003-mail.yaml", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 3},
    }


def test_a_rule_has_help_and_tags(red: Results) -> None:
    rule = log(red)["tool"]["driver"]["rules"][0]
    assert rule["help"]["text"].startswith(
        "Instruction hidden in a helpdesk note read through SIEM search. The attack must"
    )
    assert rule["properties"]["tags"] == [
        "security", "attack", "tier-medium", "security_resilience", "AML.T0051.001", "LLM01",
    ]  # fmt: skip


def test_the_published_schema_can_refuse(red: Results) -> None:
    found = json.loads(sarif.render(red))
    found["runs"][0]["results"][0]["level"] = "severe"
    with pytest.raises(jsonschema.ValidationError, match="'severe' is not one of"):
        PUBLISHED.validate(found)


def test_a_clean_session_has_rules_and_no_result() -> None:
    assert log(build.results())["results"] == []


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "C:\\x\\a b.yaml", "a/ü?#x.yaml", "javascript:alert(1)", "//evil.example/x"]
)
def test_every_uri_is_relative(path: str) -> None:
    trial = build.changed(build.trials_of()[0], file=path, line=0, passed=False)
    place = log(build.results([trial]))["results"][0]["locations"][0]["physicalLocation"]
    parts = urlsplit(place["artifactLocation"]["uri"])
    assert not parts.scheme
    assert not parts.netloc
    assert not parts.path.startswith("/")
    assert place["region"]["startLine"] == 1


@pytest.mark.parametrize("name", hostile.TEXTS)
def test_hostile_text_stays_valid(red: Results, name: str) -> None:
    record = hostile.record(red, hostile.TEXTS[name])
    sarif.render(record).encode()
    log(record)


def test_a_megabyte_is_cut(red: Results) -> None:
    assert len(sarif.render(hostile.record(red, "x" * 1_000_000))) < 1_000_000


def test_same_record_gives_the_same_bytes(red: Results) -> None:
    assert sarif.render(red) == sarif.render(Results.model_validate_json(red.model_dump_json()))
