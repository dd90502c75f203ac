"""The bundled lists of technique ids are whole, and every id of the corpus is in them."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from pytest_soclab.base import resources
from pytest_soclab.reading.yaml_source import read
from pytest_soclab.scenario import techniques
from pytest_soclab.scenario.model import ATLAS_PATTERN, OWASP_PATTERN

from .support import ATTACK


def test_the_lists_are_whole() -> None:
    assert len(techniques.known("atlas")) == 208  # ATLAS 2026.09: techniques and sub-techniques
    assert sorted(techniques.known("owasp")) == [f"{name}{n:02}" for name in ("ASI", "LLM") for n in range(1, 11)]
    assert techniques.edition("atlas") == "MITRE ATLAS 2026.09"
    assert techniques.edition("owasp") == (
        "OWASP Top 10 for LLM Applications 2025 or OWASP Top 10 for Agentic Applications 2026"
    )


def test_every_id_is_well_formed_and_named_and_below_its_technique() -> None:
    for field, pattern in (("atlas", ATLAS_PATTERN), ("owasp", OWASP_PATTERN)):
        for identity, name in techniques.known(field).items():
            assert re.fullmatch(pattern, identity)
            assert name.strip() == name != ""
    known = techniques.known("atlas")
    for identity in known:
        parent = ".".join(identity.split(".")[:2])
        assert known[identity].startswith(known[parent])


def test_each_list_names_its_source_and_edition() -> None:
    lists = json.loads(resources.data("techniques.json").read_text(encoding="utf-8"))
    assert all({"name", "version", "source", "techniques"} == set(entry) for entry in lists.values())
    assert all(entry["source"].startswith("https://") for entry in lists.values())


@pytest.mark.parametrize("path", sorted(resources.scenarios().glob("*/[AB]*-*.yaml")), ids=lambda path: path.stem)
def test_every_id_of_the_corpus_is_known(path: object) -> None:
    value = read(path).value  # type: ignore[arg-type]
    for field in ("atlas", "owasp"):
        assert set(value.get(field, ())) <= set(techniques.known(field))


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("AML.T9953", ""),  # nothing that one slip would make of it
        ("AML.T0058", "AML.T0085"),
        ("AML.T0530", "AML.T0130"),
        ("AML.T0503", "AML.T0053"),  # two digits swapped
        ("AML.T0051.007", "AML.T0051.002"),
        ("AML.T0020.123", "AML.T0020"),  # the technique exists, and has nothing below it
    ],
)
def test_a_suggestion_is_one_slip_away(wrong: str, near: str) -> None:
    assert techniques.near("atlas", wrong) == near


def test_collection_refuses_an_unknown_technique(pytester: pytest.Pytester) -> None:
    (pytester.path / "ATK-001.yaml").write_text(ATTACK.replace("LLM01", "LLM01, ASI01").replace("T0051.001", "T0051.4"))
    (pytester.path / "ATK-002.yaml").write_text(ATTACK.replace("ATK-001", "ATK-002").replace("T0051.001", "T0058"))
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*ATK-002.yaml:7:9 atlas[[]0]: found the unknown id 'AML.T0058', expected an id of*"])


def test_the_lists_are_read_only_when_a_scenario_names_a_technique() -> None:
    code = "from pytest_soclab.scenario import load, techniques; print(techniques._lists.cache_info().misses)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"
