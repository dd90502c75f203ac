"""What the plugin declares to pytest in every run, idle ones too: options, ini values and hooks.

The options are text, which costs least to import. A line is an option and what it does. `=LEVEL` and `=MODE` are
choices, `=N`, `=M`, `=SECONDS` and `=PART/WHOLE` are read by `option_types`, `...` says that the option may be given
several times, and one without a value is a switch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pluggy import HookspecMarker

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

    from pytest_soclab.harness.bench import Step
    from pytest_soclab.judging.oracles import Oracle
    from pytest_soclab.soc.registry import Registry, Tool

hookspec = HookspecMarker("pytest")  # as pytest has it; commands read this module too, and need no pytest
MODES = ("protected", "baseline", "compare")
LEVELS = ("L1", "L2", "L3", "L4", "L5")
INI = ("mode", "level", "policies", "artifacts", "assurance_profile")
"""The options that have an ini value too."""

_LAB = """\
--soclab-mode=MODE  which arms run: behind the control plane (default), without, both
--soclab-level=LEVEL  the authority level under test (default L4)
--soclab-policies=DIR  a directory with another Rego policy
--soclab-opa-url=URL  decide in a running OPA server instead of the embedded engine
--soclab-opa-token-env=NAME  the environment variable that holds the token of that server
--soclab-opa-binary=PATH  start this `opa` for the session and decide in it
--soclab-artifacts=DIR  where results, transcripts and report go (default .soclab/latest beside pytest's rootdir)
--soclab-summary=PATH  also append the Markdown summary here (default: $GITHUB_STEP_SUMMARY)
--soclab-sarif=PATH  also write red trials as SARIF 2.1.0
--soclab-previous=PATH  an earlier results.json: the summary shows the differences
--soclab-require-level=LEVEL  fail the session below this recommended level
--soclab-report-only  measure without failing
--soclab-assurance-profile=NAME|PATH  the ladder to climb (default: default)
--soclab-repeat=N  trials of each unit (default 1)
--soclab-timeout=SECONDS  how long an agent may work on a case (default 60)
--soclab-bundled  run the corpus that the package brings
--soclab-shard=PART/WHOLE  run one part of the corpus, such as 1/4
"""
_GATE = """\
--soclab-baseline=RUN...  a scored run of the baseline (repeatable)
--soclab-candidate=RUN...  a scored run of the candidate (repeatable)
--soclab-baseline-m=M  found in M baseline runs (default: a majority)
--soclab-candidate-m=M  found in M candidate runs (default: a majority)
--soclab-sheet=CSV  the blind scoring sheet of `blind:NAME` runs
--soclab-map=JSON  the sealed map of the blind sheet
--soclab-settings=JSON  stored settings with tool declarations
"""


def add_options(parser: pytest.Parser) -> None:
    """Add the options and ini values."""
    _add(parser.getgroup("soclab", "pytest-soclab: what an AI agent in the SOC may do"), _LAB)
    _add(parser.getgroup("soclab-known-answer", "pytest-soclab: the known-answer gate"), _GATE)
    for name in INI:
        parser.addini(f"soclab_{name}", f"default of --soclab-{name.replace('_', '-')}", default=None)


def _add(group: pytest.OptionGroup, lines: str) -> None:
    for line in lines.splitlines():
        option, _, says = line.partition("  ")
        option, _, value = option.partition("=")
        # pytest looks through all other options for the destination of one that does not name it
        given: dict[str, Any] = {"dest": option[2:].replace("-", "_"), "help": says}
        if not value:
            given["action"] = "store_true"
        elif value in ("MODE", "LEVEL"):
            given["choices"] = MODES if value == "MODE" else LEVELS
        else:
            given["metavar"] = value.removesuffix("...")
            given["action"] = "append" if value.endswith("...") else "store"
            if value in ("N", "M", "SECONDS", "PART/WHOLE"):
                given["type"] = _read(value)
        group.addoption(option, **given)


def _read(value: str) -> Any:
    def read(text: str) -> Any:
        from pytest_soclab.option_types import TYPES

        return TYPES[value](text)

    return read


def any_given(config: pytest.Config) -> bool:
    """Tell whether the command line or the ini file has an option of ours."""
    given = any(v not in (None, False) for name, v in vars(config.option).items() if name.startswith("soclab_"))
    return given or any(config.getini(f"soclab_{name}") for name in INI)


def distributes(config: pytest.Config) -> bool:
    """Tell whether pytest-xdist's workers run the tests."""
    return bool(getattr(config.option, "numprocesses", None) or getattr(config.option, "tx", None))


def lists_or_distributes(config: pytest.Config) -> bool:
    """Tell whether pytest lists marks, or this process sees no file that its workers collect."""
    return bool(config.option.markers or distributes(config))


@hookspec
def pytest_soclab_tools() -> Iterable[Tool]:  # type: ignore[empty-body]  # a hook specification has no body
    """Return more tools for the simulated SOC; names must be new."""


@hookspec
def pytest_soclab_oracles(registry: Registry) -> Iterable[Oracle]:  # type: ignore[empty-body]  # as above
    """Return more oracles that `attack_succeeds_when` may name."""


@hookspec
def pytest_soclab_harness_steps() -> Iterable[type[Step]]:  # type: ignore[empty-body]  # as above
    """Return more harness steps: models with a `step: Literal[...]` field and `prepare`/`perform` methods."""


@hookspec
def pytest_soclab_trial(trial: dict[str, Any]) -> None:
    """Look at a finished trial's record, in the process that aggregates the session."""
