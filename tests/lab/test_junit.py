"""pytest's JUnit file with our properties: valid in the strict family, beside their test case in the other."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import xmlschema

from .conftest import ATTACK, Corpus

SCHEMA = xmlschema.XMLSchema(str(Path(__file__).with_name("xunit2.xsd")))
NAMES = ("scenario", "version", "tier", "family", "verdict", "stopped_by", "delivered")

RED = ATTACK.replace("stopped_by: protected_asset", "stopped_by: another_reason")
AGENT_FAILS = """
import pytest

@pytest.fixture
def soclab_agent():
    raise RuntimeError("no agent today \\x1b[31m <b> ]]>")
"""


def junit(corpus: Corpus, *words: str) -> ET.Element:
    corpus.run("--junitxml=out.xml", *words)
    return ET.parse(corpus.pytester.path / "out.xml").getroot()


def of(parent: ET.Element) -> dict[str | None, str | None]:
    return {p.get("name"): p.get("value") for p in parent.findall("properties/property")}


@pytest.mark.parametrize("words", [(), ("-n2",), ("--soclab-mode=baseline",), ("-o", "junit_logging=all")], ids=str)
def test_every_property_stands_in_the_suite_and_the_file_is_valid(corpus: Corpus, words: tuple[str, ...]) -> None:
    root = junit(corpus, *words)
    SCHEMA.validate(root)
    arm = "baseline" if "baseline" in str(words) else "protected"
    found = of(root[0])
    trials = [f"ATK-001[plain-{arm}]", f"ATK-001[german-{arm}]", f"BEN-001[plain-{arm}]"]
    assert sorted(map(str, found)) == sorted(f"soclab.{name}:{trial}" for trial in trials for name in NAMES)
    assert {case.get("name") for case in root.iter("testcase")} == set(trials)
    assert found[f"soclab.verdict:BEN-001[plain-{arm}]"] == "served"
    assert found[f"soclab.scenario:ATK-001[german-{arm}]"] == "ATK-001"


def test_what_fails_is_valid_too(corpus: Corpus) -> None:
    corpus.attack.write_text(RED)
    (corpus.root / "attacks" / "ATK-002-broken.yaml").write_text("id: ATK-002\n")
    root = junit(corpus)
    SCHEMA.validate(root)
    assert [len(list(root.iter(tag))) for tag in ("failure", "error")] == [2, 1]
    assert of(root[0])["soclab.verdict:ATK-001[plain-protected]"] == "resisted"


def test_a_trial_that_could_not_be_set_up_is_valid_too(corpus: Corpus) -> None:
    corpus.pytester.makeconftest(AGENT_FAILS)
    root = junit(corpus)
    SCHEMA.validate(root)
    assert len(list(root.iter("error"))) == 3
    assert of(root[0]) == {}


def test_other_tests_keep_their_properties(corpus: Corpus) -> None:
    corpus.pytester.makepyfile(test_own="def test_own(request):\n    request.node.user_properties.append(('a', 'b'))\n")
    root = junit(corpus, ".")
    [own] = [case for case in root.iter("testcase") if case.get("name") == "test_own"]
    assert of(own) == {"a": "b"}
    assert "soclab.verdict:BEN-001[plain-protected]" in of(root[0])


@pytest.mark.parametrize("words", [(), ("-n2",)], ids=str)
def test_the_other_family_has_them_in_their_test_case(corpus: Corpus, words: tuple[str, ...]) -> None:
    root = junit(corpus, "-o", "junit_family=xunit1", *words)
    cases = {case.get("name"): of(case) for case in root.iter("testcase")}
    assert len(cases) == 3
    assert all(list(found) == [f"soclab.{name}" for name in NAMES] for found in cases.values())
    assert cases["ATK-001[plain-protected]"]["soclab.stopped_by"] == "protected_asset"
    assert of(root[0]) == {}


def test_the_schema_refuses_properties_in_a_test_case(corpus: Corpus) -> None:
    with pytest.raises(xmlschema.XMLSchemaValidationError):
        SCHEMA.validate(junit(corpus, "-o", "junit_family=xunit1"))
