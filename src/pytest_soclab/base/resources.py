"""Finds scenarios, policies and templates, from a wheel as from a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_BUNDLED = _PACKAGE / "_bundled"
_CHECKOUT = _PACKAGE.parents[1]


def _folder(in_wheel: str, in_checkout: str) -> Path:
    return _BUNDLED / in_wheel if _BUNDLED.is_dir() else _CHECKOUT / in_checkout


def scenarios() -> Path:
    """Return the folder of the bundled corpus (`attacks/`, `controls/`, `incidents/`)."""
    return _folder("scenarios", "scenarios")


def policies() -> Path:
    """Return the folder of the bundled Rego package."""
    return _folder("policies", "policies")


def templates() -> Path:
    """Return the folder of the report's templates."""
    return _folder("templates", "reports/templates")


def profiles() -> Path:
    """Return the folder of the assurance profiles."""
    return _PACKAGE / "assurance" / "profiles"


def data(name: str) -> Path:
    """Return a data file that ships inside the package, such as the technique lists."""
    return _PACKAGE / "data" / name
