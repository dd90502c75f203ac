"""The bundled Rego under OPA's own tools."""

from __future__ import annotations

import json
import subprocess

import pytest


@pytest.fixture
def run(opa):
    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([opa, *map(str, arguments)], capture_output=True, text=True, check=False)

    return call


def test_its_tests_pass_and_reach_every_line(run, policies):
    done = run("test", "--timeout", "60s", "--coverage", "--format", "json", policies)
    assert done.returncode == 0, run("test", policies).stdout
    report = json.loads(done.stdout)
    missed = {file: lines["not_covered"] for file, lines in report["files"].items() if lines.get("not_covered")}
    assert missed == {}
    assert report["coverage"] == 100


def test_each_file_has_its_tests(policies):
    modules = {path.stem for path in policies.glob("*.rego") if not path.stem.endswith("_test")}
    tested = {path.stem.removesuffix("_test") for path in policies.glob("*_test.rego")} - {"fixture"}
    assert tested == modules | {"settings"}  # those of data.yaml, element by element


def test_it_is_strict_and_formatted(run, policies):
    check = run("check", "--strict", policies)
    assert (check.returncode, check.stdout, check.stderr) == (0, "", "")
    assert run("fmt", "--list", policies).stdout == ""


def test_opa_loads_the_same_data(run, policies, bundled):
    done = run("eval", "--data", policies, "data.soclab.settings")
    assert json.loads(done.stdout)["result"][0]["expressions"][0]["value"] == bundled.data["soclab"]["settings"]


def test_every_deny_rule_has_title_and_description(run, policies):
    report = json.loads(run("inspect", "--annotations", "--format", "json", policies).stdout)
    found = [a["annotations"] for a in report["annotations"] if a["path"][-1]["value"] == "reasons"]
    assert len(found) == len({a["title"] for a in found}) == 29
    assert all(len(a["description"]) > 30 for a in found)
