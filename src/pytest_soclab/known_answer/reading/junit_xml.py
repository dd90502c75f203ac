"""JUnit XML: a test that passed is found, one that failed is missed, a skipped or broken one is unknown."""

from __future__ import annotations

import io
from collections import Counter
from xml.etree import ElementTree

from pytest_soclab.known_answer.basis.faults import Faults
from pytest_soclab.known_answer.basis.files import read_bytes, refuse
from pytest_soclab.known_answer.basis.run import ScoredRun
from pytest_soclab.known_answer.basis.verdicts import Verdict, one_spaced
from pytest_soclab.known_answer.basis.vocabulary import Vocabulary
from pytest_soclab.known_answer.reading.building import Building

_COUNTS = {"failures": "failure", "errors": "error", "skipped": "skipped"}
_READ = frozenset({"testsuites", "testsuite", "testcase", "failure", "error", "skipped"})


def read_junit(path: str, vocabulary: Vocabulary, name: str) -> tuple[ScoredRun, ...]:
    """Return the one run of a JUnit XML file.

    An item is a test case: by its name where that starts with an item code or `--key` is given, else `classname::name`.
    Raises KnownAnswerError where the XML cannot be read or its suites count other cases than they hold.
    """
    data = read_bytes(path)
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data or b"\0" in data:
        refuse("XML with a document type", path, expected="plain JUnit XML in UTF-8", remedy="export it again")
    building = Building(path, "JUnit XML", vocabulary)
    faults = Faults(path)
    try:
        _walk(data, building, faults, name)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        line = getattr(error, "position", (0, 0))[0]
        refuse(f"XML that cannot be read ({error})", path, line, expected="JUnit XML", remedy="is the file complete?")
    faults.settle()
    return building.finish(None)


def _walk(data: bytes, building: Building, faults: Faults, name: str) -> None:
    counted: list[Counter[str]] = []
    root = ""
    events = ElementTree.iterparse(io.BytesIO(data), ("start", "end"))  # noqa: S314  # a document type is refused above
    for event, element in events:
        tag = element.tag.rpartition("}")[2]
        if event == "start":
            root = root or tag
            if tag == "testsuite":
                counted.append(Counter())
            continue
        if tag == "testcase":
            building.count()
            with faults.gather():
                outcome = _case(element, building, name)
                for suite in counted:
                    suite.update(("tests", outcome))
            element.clear()
        elif tag == "testsuite":
            with faults.gather():
                _check(element, counted.pop(), building.path)
            element.clear()
        elif tag not in _READ:
            building.left.add(tag)
    if root not in {"testsuites", "testsuite"}:
        refuse(f"the root <{root}>", building.path, expected="<testsuites> or <testsuite>")


def _case(element: ElementTree.Element, building: Building, name: str) -> str:
    """Add one test case and return how it ended: `failure`, `error`, `skipped` or `passed`."""
    title = one_spaced(element.get("name") or "")
    if not title:
        refuse("a test case without a name", building.path, expected="a name")
    kinds = {child.tag.rpartition("}")[2] for child in element}
    outcome = next((kind for kind in ("failure", "error", "skipped") if kind in kinds), "passed")
    classname = element.get("classname") or ""
    bare = building.vocabulary.has_code(title) or not classname
    label = title if bare and not building.vocabulary.pattern else f"{classname}::{title}".removeprefix("::")
    verdict: Verdict | None = None
    if outcome in {"failure", "passed"}:
        verdict = building.binary(outcome == "passed")
    building.add(name, label, verdict, field=f"testcase {label}")
    return outcome


def _check(suite: ElementTree.Element, counted: Counter[str], path: str) -> None:
    """Compare what a suite says about itself with the cases that it holds."""
    place = f"testsuite {suite.get('name') or ''}".strip()
    for attribute, kind in {"tests": "tests", **_COUNTS}.items():
        said = suite.get(attribute)
        if said is None or not said.isdigit():
            continue
        if attribute != "tests" and sum(counted[kind] for kind in _COUNTS.values()) == _said(suite):
            continue  # a case that failed and then broke is counted under either
        if int(said) != counted[kind]:
            found = f'{attribute}="{said}", but {counted[kind]} such cases'
            refuse(found, path, field=place, expected="one number", remedy="is the file complete?")


def _said(suite: ElementTree.Element) -> int:
    return sum(int(said) for name in _COUNTS if (said := suite.get(name) or "0").isdigit())
