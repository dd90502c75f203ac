"""The built wheel, from a folder of its own, with the source out of the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LEAN = """
import sys

sys.path[:] = [{home!r}, *(p for p in sys.path if not p.endswith("/src"))]
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__name__.lower()]
import pytest
import pytest_soclab

assert pytest_soclab.__file__.startswith({home!r}), pytest_soclab.__file__
from pytest_soclab.cli.main import main

tool, *words = sys.argv[1:]
sys.exit(pytest.main(["-p", "pytest_soclab.plugin", *words]) if tool == "pytest" else main(words))
"""


def run(*command: str | Path, cwd: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHONPATH", "PYTEST_PLUGINS"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_brings_scenarios_policies_and_templates(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for expected in (
        "pytest_soclab/_bundled/scenarios/attacks/ATK-001-helpdesk-note.yaml",
        "pytest_soclab/_bundled/scenarios/incidents/identity-compromise.yaml",
        "pytest_soclab/_bundled/policies/scope.rego",
        "pytest_soclab/_bundled/templates/report.html.j2",
        "pytest_soclab/assurance/profiles/default.yaml",
        "pytest_soclab/py.typed",
    ):
        assert expected in names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/", "docs/"))]


@pytest.mark.slow
def test_the_wheel_runs_the_bundled_corpus_from_another_folder(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps")
    run(*pip, "--target", home, wheel, cwd=tmp_path)
    (tmp_path / "lean.py").write_text(LEAN.format(home=str(home)))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    output = run(sys.executable, tmp_path / "lean.py", "pytest", "--soclab-bundled", cwd=elsewhere)
    assert "controls support L4" in output
    results = json.loads((elsewhere / ".soclab" / "latest" / "results.json").read_text())
    assert results["level"]["recommended"] == "L4"
    assert str(ROOT) not in json.dumps(results["trials"])
    shown = run(sys.executable, tmp_path / "lean.py", "soclab", "verify", ".soclab/latest", cwd=elsewhere)
    assert "hold, and the results follow from them" in shown
