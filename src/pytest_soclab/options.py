"""Options and ini values of the plugin, turned into one frozen `Settings`. Light: an idle pytest run imports this."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pytest

MODES = ("protected", "baseline", "compare")
LEVELS = ("L1", "L2", "L3", "L4", "L5")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the command line and the ini file say to the plugin."""

    mode: Literal["protected", "baseline", "compare"] = "protected"
    level: str = "L4"
    policies: str | None = None
    opa_url: str | None = None
    opa_binary: str | None = None
    artifacts: str = ".soclab/latest"
    summary: str | None = None
    sarif: str | None = None
    previous: str | None = None
    require_level: str | None = None
    report_only: bool = False
    assurance_profile: str = "default"
    repeat: int = 1
    timeout: float = 60.0
    bundled: bool = False
    shard: tuple[int, int] | None = None
    baseline: tuple[str, ...] = ()
    candidate: tuple[str, ...] = ()
    baseline_m: int | None = None
    candidate_m: int | None = None
    sheet: str | None = None
    map: str | None = None
    settings: str | None = None

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms that the mode runs."""
        return ("baseline", "protected") if self.mode == "compare" else (self.mode,)

    def command(self) -> tuple[str, ...]:
        """Return the pytest arguments that give the same results, wherever they are written."""
        skip = {"artifacts", "summary", "sarif", "previous", "report_only", "require_level", "timeout", "shard"}
        defaults = Settings()
        words = ["pytest", f"--soclab-mode={self.mode}"]
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name not in skip | {"mode"} and value != getattr(defaults, item.name):
                words += _words(f"--soclab-{item.name.replace('_', '-')}", value)
        return tuple(words)


def _words(option: str, value: Any) -> list[str]:
    if value is True:
        return [option]
    return [f"{option}={one}" for one in (value if isinstance(value, tuple) else (value,))]


def _shard(text: str) -> tuple[int, int]:
    part, slash, whole = text.partition("/")
    if not (slash and part.isdigit() and whole.isdigit() and 1 <= int(part) <= int(whole)):
        raise argparse.ArgumentTypeError(f"found {text!r}, expected PART/WHOLE such as 1/4")
    return int(part), int(whole)


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a whole number from 1 on")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= 86_400:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected seconds, more than 0 and at most 86400")
    return value


def add_options(parser: pytest.Parser) -> None:
    """Add the options and ini values."""
    _add_lab(parser.getgroup("soclab", "pytest-soclab: what an AI agent in the SOC may do"))
    _add_gate(parser.getgroup("soclab-known-answer", "pytest-soclab: the known-answer gate"))
    for name, what in (("mode", "default mode"), ("level", "default level"), ("policies", "default policy directory")):
        parser.addini(f"soclab_{name}", f"{what} of pytest-soclab", default=None)
    parser.addini("soclab_artifacts", "default artifacts directory of pytest-soclab", default=None)
    parser.addini("soclab_assurance_profile", "default assurance profile of pytest-soclab", default=None)


def _add_lab(lab: pytest.OptionGroup) -> None:
    lab.addoption(
        "--soclab-mode", choices=MODES, help="which arms run: behind the control plane (default), without, both"
    )
    lab.addoption("--soclab-level", choices=LEVELS, help="the authority level under test (default L4)")
    lab.addoption("--soclab-policies", metavar="DIR", help="a directory with another Rego policy")
    lab.addoption(
        "--soclab-opa-url", metavar="URL", help="decide in a running OPA server instead of the embedded engine"
    )
    lab.addoption("--soclab-opa-binary", metavar="PATH", help="start this `opa` for the session and decide in it")
    lab.addoption(
        "--soclab-artifacts", metavar="DIR", help="where results, transcripts and report go (default .soclab/latest)"
    )
    lab.addoption(
        "--soclab-summary", metavar="PATH", help="also append the Markdown summary here (default: $GITHUB_STEP_SUMMARY)"
    )
    lab.addoption("--soclab-sarif", metavar="PATH", help="also write red trials as SARIF 2.1.0")
    lab.addoption(
        "--soclab-previous", metavar="PATH", help="an earlier results.json: the summary shows the differences"
    )
    lab.addoption("--soclab-require-level", choices=LEVELS, help="fail the session below this recommended level")
    lab.addoption("--soclab-report-only", action="store_true", help="measure without failing")
    lab.addoption("--soclab-assurance-profile", metavar="NAME|PATH", help="the ladder to climb (default: default)")
    lab.addoption("--soclab-repeat", type=_positive, metavar="N", help="trials of each unit (default 1)")
    lab.addoption(
        "--soclab-timeout", type=_seconds, metavar="SECONDS", help="how long an agent may work on a case (default 60)"
    )
    lab.addoption("--soclab-bundled", action="store_true", help="run the corpus that the package brings")
    lab.addoption("--soclab-shard", type=_shard, metavar="PART/WHOLE", help="run one part of the corpus, such as 1/4")


def _add_gate(gate: pytest.OptionGroup) -> None:
    gate.addoption(
        "--soclab-baseline", action="append", metavar="RUN", help="a scored run of the baseline (repeatable)"
    )
    gate.addoption(
        "--soclab-candidate", action="append", metavar="RUN", help="a scored run of the candidate (repeatable)"
    )
    gate.addoption(
        "--soclab-baseline-m", type=_positive, metavar="M", help="found in M baseline runs (default: a majority)"
    )
    gate.addoption(
        "--soclab-candidate-m", type=_positive, metavar="M", help="found in M candidate runs (default: a majority)"
    )
    gate.addoption("--soclab-sheet", metavar="CSV", help="the blind scoring sheet of `blind:NAME` runs")
    gate.addoption("--soclab-map", metavar="JSON", help="the sealed map of the blind sheet")
    gate.addoption("--soclab-settings", metavar="JSON", help="stored settings with tool declarations")


_INI = ("mode", "level", "policies", "artifacts", "assurance_profile")


def settings_of(config: pytest.Config) -> Settings:
    """Return the settings of a session.

    Raises:
        UsageError: when an ini value is no valid one.
    """
    given: dict[str, Any] = {}
    for item in fields(Settings):
        value = config.getoption(f"soclab_{item.name}", None)
        if value in (None, False) and item.name in _INI:
            value = _ini(config, item.name)
        if value not in (None, False):
            given[item.name] = tuple(value) if isinstance(value, list) else value
    return Settings(**given)


def _ini(config: pytest.Config, name: str) -> str | None:
    value = config.getini(f"soclab_{name}")
    if not value:
        return None
    valid = {"mode": MODES, "level": LEVELS}.get(name)
    if valid and value not in valid:
        from pytest_soclab.errors import UsageError, nearest, quote

        raise UsageError(f"ini value soclab_{name}: found {quote(value)}; {nearest(value, valid)}")
    if name in ("policies", "artifacts") and config.inipath and not Path(value).is_absolute():
        return str(config.inipath.parent / value)
    return str(value)


def any_given(config: pytest.Config) -> bool:
    """Tell whether the command line or the ini file has an option of ours."""
    given = any(
        name.startswith("soclab_") and value not in (None, False) for name, value in vars(config.option).items()
    )
    return given or any(config.getini(f"soclab_{name}") for name in _INI)
