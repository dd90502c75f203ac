"""An installed plugin that has nothing to do imports nothing: no heavy library, and none of its own lower modules."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

HEAVY = {
    "httpx", "jinja2", "jwt", "markdown_it", "mcp", "numpy", "opa_client", "pydantic", "regopy", "rfc8785", "ruamel",
    "scipy",
}  # fmt: skip
LIGHT = {"options", "plugin", "session", "session.hookspecs"}
LISTED = {"session.hooks", "session.state"}

PROBE = """
import sys
import pytest

status = pytest.main(sys.argv[1:])
print("\\nimported:", *sorted(sys.modules))
sys.exit(status)
"""
TEST = "def test_nothing(tmp_path):\n    assert tmp_path\n"


def imported(folder, *words, status=0):
    """Run pytest as a user does, with no other plugin of this environment, and return the modules that it imported."""
    plugins = ("-p", "no:xdist", "-p", "no:cov", "-p", "no:pytest_cov", "-p", "no:hypothesispytest", "-p", "no:anyio")
    command = [sys.executable, "-c", PROBE, *plugins, "-p", "no:cacheprovider", *words]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "PYTEST_"))}
    done = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return set(done.stdout.rpartition("imported: ")[2].split())


@pytest.fixture
def plain(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_plain.py").write_text(TEST)
    return tmp_path


def check_idle(modules, light=LIGHT):
    assert "pytest_soclab.plugin" in modules
    assert {name.partition(".")[0] for name in modules} & HEAVY == set()
    ours = {name.removeprefix("pytest_soclab.") for name in modules if name.startswith("pytest_soclab.")}
    assert ours <= light


@pytest.mark.parametrize("word", ["-q", "--help", "--fixtures", "--markers", "--collect-only"])
def test_a_plain_run_imports_nothing_heavy(plain, word):
    check_idle(imported(plain, word), LIGHT | LISTED if word == "--markers" else LIGHT)


@pytest.mark.parametrize("name", ["config.yaml", "ATK-001.yml", "atk-001.yaml", "BEN.yaml", "ATK-001.yaml.orig"])
def test_other_files_import_nothing_heavy(plain, name):
    (plain / name).write_text("- not: [a, scenario\n")
    check_idle(imported(plain))


def test_a_failing_test_imports_nothing_heavy(plain):
    (plain / "test_red.py").write_text("def test_red():\n    assert 0\n")
    check_idle(imported(plain, status=1))


def test_a_broken_file_imports_nothing_heavy(plain):
    (plain / "test_broken.py").write_text("import nothing_of_that_name\n")
    check_idle(imported(plain, status=2))


def test_an_empty_session_imports_nothing_heavy(plain):
    (plain / "test_plain.py").unlink()
    check_idle(imported(plain, status=5))


def test_a_scenario_does_import_the_lab(plain):
    (plain / "ATK-001.yaml").write_text("id: ATK-001\n")
    modules = imported(plain, "--collect-only", status=1)
    assert {"pytest_soclab.session.lifecycle", "pydantic", "ruamel.yaml"} <= modules


def test_reading_a_scenario_needs_no_engine_no_statistics_and_no_known_answers(plain):
    (plain / "ATK-001.yaml").write_text("id: ATK-001\n")
    modules = imported(plain, "--collect-only", status=1)
    later = {"httpx", "markdown_it", "mcp", "numpy", "opa_client", "regopy", "scipy"}
    assert {name.partition(".")[0] for name in modules} & later == set()
