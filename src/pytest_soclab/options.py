"""Options and ini values of the plugin. Light: an idle pytest run imports this and nothing that it does not need."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

MODES = ("protected", "baseline", "compare")
LEVELS = ("L1", "L2", "L3", "L4", "L5")
INI = ("mode", "level", "policies", "artifacts", "assurance_profile")
"""The options that have an ini value too."""


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


def _add(group: pytest.OptionGroup, option: str, **attributes: Any) -> None:
    """Add one option; pytest looks through all others for the destination of one that does not name it."""
    group.addoption(option, dest=option.removeprefix("--").replace("-", "_"), **attributes)


def _add_lab(lab: pytest.OptionGroup) -> None:
    _add(lab, "--soclab-mode", choices=MODES, help="which arms run: behind the control plane (default), without, both")
    _add(lab, "--soclab-level", choices=LEVELS, help="the authority level under test (default L4)")
    _add(lab, "--soclab-policies", metavar="DIR", help="a directory with another Rego policy")
    _add(lab, "--soclab-opa-url", metavar="URL", help="decide in a running OPA server instead of the embedded engine")
    _add(lab, "--soclab-opa-binary", metavar="PATH", help="start this `opa` for the session and decide in it")
    _add(
        lab,
        "--soclab-artifacts",
        metavar="DIR",
        help="where results, transcripts and report go (default .soclab/latest)",
    )
    _add(
        lab,
        "--soclab-summary",
        metavar="PATH",
        help="also append the Markdown summary here (default: $GITHUB_STEP_SUMMARY)",
    )
    _add(lab, "--soclab-sarif", metavar="PATH", help="also write red trials as SARIF 2.1.0")
    _add(lab, "--soclab-previous", metavar="PATH", help="an earlier results.json: the summary shows the differences")
    _add(lab, "--soclab-require-level", choices=LEVELS, help="fail the session below this recommended level")
    _add(lab, "--soclab-report-only", action="store_true", help="measure without failing")
    _add(lab, "--soclab-assurance-profile", metavar="NAME|PATH", help="the ladder to climb (default: default)")
    _add(lab, "--soclab-repeat", type=_positive, metavar="N", help="trials of each unit (default 1)")
    _add(
        lab,
        "--soclab-timeout",
        type=_seconds,
        metavar="SECONDS",
        help="how long an agent may work on a case (default 60)",
    )
    _add(lab, "--soclab-bundled", action="store_true", help="run the corpus that the package brings")
    _add(lab, "--soclab-shard", type=_shard, metavar="PART/WHOLE", help="run one part of the corpus, such as 1/4")


def _add_gate(gate: pytest.OptionGroup) -> None:
    _add(gate, "--soclab-baseline", action="append", metavar="RUN", help="a scored run of the baseline (repeatable)")
    _add(gate, "--soclab-candidate", action="append", metavar="RUN", help="a scored run of the candidate (repeatable)")
    _add(
        gate, "--soclab-baseline-m", type=_positive, metavar="M", help="found in M baseline runs (default: a majority)"
    )
    _add(
        gate,
        "--soclab-candidate-m",
        type=_positive,
        metavar="M",
        help="found in M candidate runs (default: a majority)",
    )
    _add(gate, "--soclab-sheet", metavar="CSV", help="the blind scoring sheet of `blind:NAME` runs")
    _add(gate, "--soclab-map", metavar="JSON", help="the sealed map of the blind sheet")
    _add(gate, "--soclab-settings", metavar="JSON", help="stored settings with tool declarations")


def any_given(config: pytest.Config) -> bool:
    """Tell whether the command line or the ini file has an option of ours."""
    given = any(
        name.startswith("soclab_") and value not in (None, False) for name, value in vars(config.option).items()
    )
    return given or any(config.getini(f"soclab_{name}") for name in INI)
