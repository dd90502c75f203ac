"""OPA's own test cases, from its Go module: what the embedded engine takes of them it answers as OPA does."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from differential import NO_ANSWER, UNDEFINED, Embedded, loosely
from ruamel.yaml import YAML

pytestmark = pytest.mark.exhaustive
_WHERE = "github.com/open-policy-agent/opa@v1.22.3/v1/test/cases/testdata"


def root() -> Path:
    """Return the folder of the cases: of SOCLAB_OPA_CASES, else of Go's module cache."""
    given = os.environ.get("SOCLAB_OPA_CASES")
    if given:
        return Path(given)
    go = shutil.which("go") or "/usr/local/go/bin/go"
    cache = subprocess.run([go, "env", "GOMODCACHE"], capture_output=True, text=True, check=True).stdout.strip()
    return Path(cache) / _WHERE


def cases(version: str) -> Iterator[dict[str, Any]]:
    """Yield the cases whose query asks for one rule."""
    folder = root() / version
    if not folder.is_dir():
        pytest.fail(f"no OPA test cases at {folder}: set SOCLAB_OPA_CASES, or `go mod download` OPA", pytrace=False)
    reader = YAML(typ="safe")
    for path in sorted(folder.rglob("*.yaml")):
        for case in reader.load(path.read_text(encoding="utf-8"))["cases"]:
            if re.fullmatch(r"data\.[\w.]+ = x", case["query"]) and case.get("modules"):
                yield case


def given_input(case: dict[str, Any]) -> Any:
    """Return a case's input as JSON, None where there is none or it is no JSON."""
    if "input_term" not in case:
        return case.get("input")
    try:
        return json.loads(case["input_term"])
    except ValueError:
        return None


def agrees(case: dict[str, Any], answer: Any) -> bool:
    """Tell whether an answer is the one that OPA's authors want, or none at all."""
    if answer == NO_ANSWER:
        return True
    if ("want_error" in case or "want_error_code" in case) and not case.get("strict_error"):
        return False
    wanted = case.get("want_result") or []
    return answer == UNDEFINED if not wanted else loosely(answer) == loosely(wanted[0]["x"])


def answers(version: str) -> Counter[str]:
    """Count what came of the cases; one that is answered otherwise fails the test."""
    counted: Counter[str] = Counter()
    embedded = Embedded()
    try:
        for case in cases(version):
            document = given_input(case)
            if document is None and any("input" in text for text in case["modules"]):
                continue  # a case without an input: a decision always has one
            modules = {f"m{number}.rego": text for number, text in enumerate(case["modules"])}
            entrypoint = case["query"].removeprefix("data.").removesuffix(" = x").replace(".", "/")
            document = document if isinstance(document, dict) else {"value": document}
            kind, found = embedded.ask(modules, case.get("data") or {}, [entrypoint], [document])
            counted[kind] += 1
            assert kind != "crash", f"{case['note']}: {found}"
            assert kind == "refused" or agrees(case, found[0]), f"{case['note']}: {case['modules']} gave {found[0]}"
    finally:
        embedded.stop()
    return counted


def test_the_cases_of_today_are_refused_or_answered_as_by_opa():
    counted = answers("v1")
    assert counted["answers"] > 80, counted
    assert counted.total() > 2000, counted


def test_the_cases_in_old_syntax_are_refused_or_mean_the_same_today():
    counted = answers("v0")
    assert counted["answers"] < 20, counted
    assert counted.total() > 1700, counted
