"""The one task runner: `nox -s NAME`. CI runs the same sessions, with `--no-venv` in an environment made already."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import nox
from packaging.requirements import Requirement

ROOT = Path(__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OPA = os.environ.get("SOCLAB_OPA", "opa")
CORE = ("tests/core", "tests/scenario", "tests/soc", "tests/known_answer")
"""What needs neither a browser nor OPA: enough to see whether a Python or an old library breaks us."""

nox.options.sessions = ["lint", "types", "policy", "docs", "tests"]


def ready(session: nox.Session, *extras: str) -> None:
    """Install the project, unless the session runs in an environment that is made already."""
    if not isinstance(session.virtualenv, nox.virtualenv.PassthroughEnv):
        session.install("-e", f".[{','.join(extras)}]")


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format, scenarios and generated pages."""
    ready(session, "test", "docs")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("soclab", "lint", "scenarios")
    session.run("python", "scripts/build_docs.py", "--check")


@nox.session
def types(session: nox.Session) -> None:
    """Check types in the package and in the samples of the public API."""
    ready(session, "test")
    session.run("mypy")


@nox.session
def policy(session: nox.Session) -> None:
    """Check, format and test the bundled policy with OPA."""
    session.run(OPA, "check", "--strict", "policies", external=True)
    unformatted = session.run(OPA, "fmt", "--list", "policies", external=True, silent=True)
    if unformatted and str(unformatted).strip():
        session.error(f"run `opa fmt -w policies`: {unformatted}")
    session.run(OPA, "test", "--timeout", "60s", "policies", external=True)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site strictly."""
    ready(session, "docs")
    session.run("mkdocs", "build", "--strict", "--site-dir", session.create_tmp(), env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session
def quick(session: nox.Session) -> None:
    """Run the tests that answer in a minute."""
    ready(session, "test", "docs")
    session.run("pytest", "tests", "-n", "2", "-q", "-m", "not slow", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run all tests."""
    ready(session, "test", "docs")
    session.run("pytest", "tests", "-n", "2", *session.posargs)


@nox.session
def frameworks(session: nox.Session) -> None:
    """Run every example agent with the newest packages of its framework, and write down what came out."""
    ready(session, "test")
    session.run("bash", "scripts/frameworks.sh", "--latest", *session.posargs, external=True)


@nox.session
def oldest(session: nox.Session) -> None:
    """Run the core's tests with the oldest dependencies that pyproject.toml allows."""
    ready(session, "test")
    session.install(*(_oldest(line) for line in PROJECT["dependencies"]))
    session.run("pytest", *CORE, "-q", "-n", "2", "-m", "not slow", *session.posargs)


@nox.session(python=["3.11", "3.12", "3.13"])
def pythons(session: nox.Session) -> None:
    """Run the core's tests with each Python that is installed."""
    ready(session, "test")
    session.run("pytest", *CORE, "-q", "-n", "2", "-m", "not slow", *session.posargs)


def _oldest(line: str) -> str:
    wanted = Requirement(line)
    lower = next(s.version for s in wanted.specifier if s.operator == ">=")
    extras = f"[{','.join(sorted(wanted.extras))}]" if wanted.extras else ""
    return f"{wanted.name}{extras}=={lower}"
