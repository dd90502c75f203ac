"""The bundled policy, its embedded engine, and the real OPA that the tests ask."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from pytest_soclab.base import resources
from pytest_soclab.policy.embedded import EmbeddedEngine
from pytest_soclab.policy.load import load_policy


@pytest.fixture(scope="session")
def policies() -> Path:
    return resources.policies()


@pytest.fixture(scope="session")
def bundled(policies):
    return load_policy(policies)


@pytest.fixture(scope="session")
def embedded(bundled):
    engine = EmbeddedEngine(bundled)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def opa() -> str:
    found = os.environ.get("SOCLAB_OPA") or shutil.which("opa")
    if not found or not Path(found).is_file():
        pytest.fail(
            f"no OPA to test against (SOCLAB_OPA={os.environ.get('SOCLAB_OPA')!r}); "
            "install opa 1.x on PATH or set SOCLAB_OPA to its path",
            pytrace=False,
        )
    return found


@pytest.fixture
def policy_dir(tmp_path):
    """Write a policy of given files (or the text of its one module) and return its directory."""

    def write(text: str | None = None, /, **files: str) -> Path:
        directory = tmp_path / "policies"
        directory.mkdir(exist_ok=True)
        if text is not None:
            (directory / "policy.rego").write_text(text, encoding="utf-8")
        for name, content in files.items():
            (directory / name.replace("__", ".")).write_text(content, encoding="utf-8")
        return directory

    return write


def pytest_collection_modifyitems(config, items):
    """Leave the long comparisons to `-m exhaustive`, which CI runs as a step of its own."""
    if "exhaustive" not in config.option.markexpr:
        left_out = [item for item in items if item.get_closest_marker("exhaustive")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
