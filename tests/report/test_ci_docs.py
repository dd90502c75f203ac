"""The workflows in docs/ci.md: they parse, and name no option that does not exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

import pytest_soclab.cli.main as cli

from . import schemas

DOC = Path(__file__).parents[2] / "docs" / "ci.md"
TEXT = DOC.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```yaml\n(.*?)```", TEXT, flags=re.DOTALL)


def load(block: str) -> Any:
    return YAML(typ="safe").load(block)


def test_three_workflows_parse() -> None:
    assert [sorted(load(block)) for block in BLOCKS] == [
        ["concurrency", "jobs", "name", "on", "permissions"],
        ["jobs", "name", "on", "permissions"],
        ["default", "known-answer", "lab", "level", "stages", "variables"],
    ]


@pytest.mark.parametrize(
    ("block", "schema"),
    [*((block, schemas.GITHUB_WORKFLOW) for block in BLOCKS[:2]), (BLOCKS[2], schemas.GITLAB_CI)],
    ids=["github", "github-gate", "gitlab"],
)
def test_each_workflow_fits_its_published_schema(block: str, schema: str) -> None:
    validator = jsonschema.Draft7Validator(schemas.published(schema))
    workflow = load(block)
    validator.validate(workflow)
    broken = {name: "nothing" if name in ("jobs", "lab") else value for name, value in workflow.items()}
    assert not validator.is_valid(broken)


@pytest.mark.parametrize("block", BLOCKS[:2])
def test_github_jobs_are_complete_and_bounded(block: str) -> None:
    for job in load(block)["jobs"].values():
        assert {"runs-on", "timeout-minutes", "steps"} <= job.keys()
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert "@v" in step.get("uses", "@v")


def test_every_shard_is_joined() -> None:
    shards = load(BLOCKS[0])["jobs"]["lab"]["strategy"]["matrix"]["shard"]
    joined = load(BLOCKS[0])["jobs"]["level"]["steps"]
    merge = next(step["run"] for step in joined if "soclab merge" in step.get("run", ""))
    assert re.findall(r"shards/soclab-(\d)", merge) == [str(n) for n in shards]
    assert load(BLOCKS[2])["lab"]["parallel"] == len(shards)


def test_every_option_exists() -> None:
    said = set(re.findall(r"--soclab-[a-z-]+", TEXT))
    command = [sys.executable, "-m", "pytest", "--help", "-p", "no:cacheprovider"]
    known = subprocess.run(command, capture_output=True, text=True, check=True, cwd=DOC.parents[1]).stdout
    assert {option for option in said if option not in known} == set()


def test_the_jobs_that_join_require_a_level() -> None:
    steps = [step.get("run", "") for step in load(BLOCKS[0])["jobs"]["level"]["steps"]]
    for lines in (steps, load(BLOCKS[2])["level"]["script"]):
        (command,) = (line for line in lines if line.startswith("soclab merge "))
        options = cli._parser().parse_args(command.split()[1:])
        assert options.require_level == "L3"
        assert not [line for line in lines if ".level" in line or "'level'" in line]
