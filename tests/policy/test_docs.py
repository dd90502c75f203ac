"""Every block of docs/policy.md runs, and its tables say what the code says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_soclab.policy.answer import parse_answer
from pytest_soclab.policy.embedded import EmbeddedEngine
from pytest_soclab.policy.load import load_policy
from pytest_soclab.policy.model import DecisionInput, Obligation, TargetIn
from pytest_soclab.policy.probes import PROBES
from pytest_soclab.policy.proved import PROVED

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
COLUMN = [cell for line in re.findall(r"^\| (.+?) \|", TEXT, re.MULTILINE) for cell in re.findall(r"`([^`]+)`", line)]


def blocks(language: str) -> list[str]:
    return [text for found, text in BLOCKS if found == language]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A copy of what the reader's checkout has, with the files that the page shows."""
    for name in ("policies", "scenarios"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for text in [*blocks("rego"), *blocks("yaml")]:
        path = tmp_path / text.splitlines()[0].removeprefix("# ")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_every_block_is_of_a_kind_that_is_run():
    assert {language for language, _ in BLOCKS} == {"rego", "yaml", "shell", "json"}
    assert all(re.match(r"# own-policy/\w+\.(rego|yaml)\n", text) for text in [*blocks("rego"), *blocks("yaml")])


@pytest.mark.parametrize("number", range(len(blocks("shell"))))
def test_the_commands_succeed(folder, opa, number):
    tools = folder / "bin"
    tools.mkdir()
    (tools / "opa").symlink_to(opa)
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", blocks("shell")[number]],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "own-policy" not in done.stdout  # what `opa fmt --list` would print


def test_the_changed_threshold_fails_the_one_test_that_the_page_names(folder, opa):
    environment = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    first = "\n".join(blocks("shell")[0].splitlines()[:2])
    subprocess.run(["bash", "-c", first], cwd=folder, env=environment, check=True)
    done = subprocess.run(
        [opa, "test", "--timeout", "60s", "my-policy"], cwd=folder, capture_output=True, text=True, check=False
    )
    failed = re.findall(r"^\s+(.+): FAIL", done.stdout, re.MULTILINE)
    assert [name.strip() for name in failed if "test_" not in name] == ["as many targets as allowed"]


def test_the_policy_of_ones_own_decides_in_the_embedded_engine(folder):
    engine = EmbeddedEngine(load_policy(folder / "own-policy"))
    read = {"tool": {"name": "siem.search", "authority": "observe", "effect": "read"}}
    assert engine.decide(read).obligations == (Obligation.REDACT,)
    assert engine.decide({}).reasons == ("unlisted_tool",)
    assert [(rule.reason, rule.title) for rule in engine.source.rules] == [
        ("unlisted_tool", "The tool is not on the list")
    ]


def test_the_answer_is_one():
    for text in blocks("json"):
        parse_answer(json.loads(text))


def _fields(model, prefix: str = "") -> set[str]:
    names = set()
    for name, field in model.model_fields.items():
        inner = field.annotation
        nested = hasattr(inner, "model_fields") and name != "budgets"
        names |= _fields(inner, f"{prefix}{name}.") if nested else {f"{prefix}{name}"}
    return names


def test_every_field_of_the_input_is_in_the_tables():
    named, group = set(), ""
    for cell in COLUMN:
        group = cell.partition(".")[0] if not cell.startswith(".") else group
        named.add(group + cell if cell.startswith(".") else cell)
    wanted = _fields(DecisionInput) - {"budgets"} | {f"budgets.{n}" for n in ("calls", "cost", "seconds", "changes")}
    assert wanted | set(TargetIn.model_fields) <= named


def test_every_reason_obligation_and_setting_is_in_the_tables(bundled):
    assert {rule.reason for rule in bundled.rules} <= set(COLUMN)
    assert {obligation.value for obligation in Obligation} <= set(COLUMN)
    assert set(bundled.data["soclab"]["settings"]) <= set(COLUMN)


def test_the_proved_builtins_are_named():
    sentence = re.search(r"the builtins (.*?)\.\n\n", TEXT, re.DOTALL)[1]
    assert set(re.findall(r"`([^`]+)`", sentence)) == PROBES.keys() == PROVED.keys() - {"set"}
