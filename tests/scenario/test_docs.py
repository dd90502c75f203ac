"""Every file and every command of docs/writing-scenarios.md, run in the order in which they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_soclab.scenario.corpus import STOPS
from pytest_soclab.scenario.model import CharterText, Scenario
from pytest_soclab.soc.servers import tables

from .support import lab

PAGE = Path(__file__).resolve().parents[2] / "docs" / "writing-scenarios.md"
TEXT = PAGE.read_text(encoding="utf-8")


class Block(NamedTuple):
    language: str
    text: str


BLOCKS = [Block(*found) for found in re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)]


def section(title: str) -> str:
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def named(title: str) -> set[str]:
    """Return every name in code marks in the first column of a section's table."""
    rows = [line.split("|")[1] for line in section(title).splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([a-z_.]+)[:`]", row)}


def run(command: str, folder: Path) -> str:
    path = os.pathsep.join([str(folder / ".bin"), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-ec", command], cwd=folder, env={**os.environ, "PATH": path, "PYTHONUTF8": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder where `soclab` and `pytest` are those of this Python."""
    for name, module in (("soclab", "pytest_soclab.cli.main"), ("pytest", "pytest")):
        script = tmp_path / ".bin" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
        script.chmod(0o755)
    return tmp_path


def test_every_block_works_in_the_order_of_the_page(folder: Path) -> None:
    said = ""
    for block in BLOCKS:
        match block.language:
            case "yaml":
                name = block.text.splitlines()[0].removeprefix("# ")
                (folder / name).write_text(block.text, encoding="utf-8")
            case "bash":
                said = run(block.text, folder)
            case "text":
                for line in block.text.splitlines():
                    pattern = f"*{line.replace('[', '[[]').replace('…', '*')}*"
                    assert any(fnmatchcase(own, pattern) for own in said.splitlines()), f"{line}\n{said}"
            case "python":
                names: dict[str, Any] = {}
                exec(compile(block.text, str(PAGE), "exec"), names)
                assert [play.name for play in names["pytest_soclab_plays"]()] == ["twice"]
            case other:
                pytest.fail(f"nothing runs a block in {other}")


def test_the_tables_name_everything_that_exists() -> None:
    fields = {field.alias or name for name, field in Scenario.model_fields.items()}
    assert named("The fields") == fields
    charter = next(line for line in section("The fields").splitlines() if line.startswith("| `charter`"))
    assert set(re.findall(r"`([a-z_]+)`", charter)) == {"charter", *CharterText.model_fields}
    assert named("Oracles") == set(lab().oracles)
    assert named("Attacks on the control plane") == set(lab().steps)
    assert named("Delivering the payload") == set(tables())


def test_the_reading_tools_and_stops_are_all_named() -> None:
    reading = {name for name, tool in lab().registry.tools.items() if tool.effect.value == "read"}
    shown = set(re.findall(r"`([a-z]+\.[a-z_]+)`", section("Delivering the payload"))) - set(tables())
    assert shown | {"malware.strings", "malware.imports"} == reading
    assert all(f"`{stop}`" in section("The fields") for stop in STOPS)


def test_the_keys_of_each_harness_step_are_named() -> None:
    rows = [line.split("|") for line in section("Attacks on the control plane").splitlines() if line.startswith("| `")]
    for row in rows:
        model = lab().steps[row[1].strip(" `")]
        assert set(re.findall(r"`([a-z_]+)`", row[3])) == set(model.model_fields) - {"step"}


def test_the_quoted_messages_of_the_witnesses_exist() -> None:
    source = "".join(
        (PAGE.parents[1] / "src" / "pytest_soclab" / name).read_text(encoding="utf-8")
        for name in ("trials/self_check.py", "cli/authoring.py")
    )
    rows = [
        line.split("|")[1].strip() for line in section("Scenarios prove themselves").splitlines() if line[:2] == "| "
    ]
    for message in rows[1:]:
        for part in re.split(r" … | / | …|an agent that | counts as", message):
            assert part in source, part
