"""The options and ini values. Light: every pytest run that has the plugin installed imports this."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

MODES = ("protected", "baseline", "compare")
LEVELS = ("L1", "L2", "L3", "L4", "L5")
INI = (
    "mode", "level", "policies", "artifacts", "assurance_profile",
    "agent_command", "agent_url", "agent_env", "agent_name", "agent_model",
    "plays",
)  # fmt: skip
"""The options that have an ini value too."""


def add_options(parser: pytest.Parser) -> None:
    """Add the options and ini values."""
    _add(parser.getgroup("soclab", "pytest-soclab: what an AI agent in the SOC may do"), _LAB)
    _add(parser.getgroup("soclab-known-answer", "pytest-soclab: the known-answer gate"), _GATE)
    for name in INI:
        parser.addini(f"soclab_{name}", f"default of --soclab-{name.replace('_', '-')}", default=None)


def _add(group: pytest.OptionGroup, options: dict[str, dict[str, Any]]) -> None:
    for name, given in options.items():
        # pytest looks through all other options for the destination of one that does not name it
        group.addoption(f"--soclab-{name}", dest=f"soclab_{name.replace('-', '_')}", **given)


def shard(text: str) -> tuple[int, int]:
    """Read `1/4`."""
    part, slash, whole = text.partition("/")
    if not (slash and part.isdigit() and whole.isdigit() and 1 <= int(part) <= int(whole)):
        raise ArgumentTypeError(f"found {text!r}, expected PART/WHOLE such as 1/4")
    return int(part), int(whole)


def positive(text: str) -> int:
    """Read a whole number from 1 on."""
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise ArgumentTypeError(f"found {text!r}, expected a whole number from 1 on")
    return int(text)


def repeats(text: str) -> int:
    """Read how often each unit is tried."""
    if positive(text) > _MOST_REPEATS:
        raise ArgumentTypeError(f"found {text!r}, expected at most {_MOST_REPEATS}")
    return int(text)


_MOST_REPEATS = 1_000
"""Each repetition of each unit is an item: with more, pytest would only collect."""


def seconds(text: str) -> float:
    """Read seconds, at most a day."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= 86_400:
        raise ArgumentTypeError(f"found {text!r}, expected seconds, more than 0 and at most 86400")
    return value


def limits(text: str) -> tuple[float, float]:
    """Read the limit of a trial and of the session, `0.05/2`."""
    parts = text.split("/")
    try:
        trial, session = (float(part) for part in parts)
    except ValueError:
        raise ArgumentTypeError(f"found {text!r}, expected TRIAL/SESSION such as 0.05/2") from None
    if not 0 < trial <= session < float("inf"):
        raise ArgumentTypeError(f"found {text!r}, expected more than 0 for a trial and no less for the session")
    return trial, session


_LAB: dict[str, dict[str, Any]] = {
    "mode": {
        "choices": MODES,
        "help": "which arms run: behind the control plane (default), without, both",
    },
    "level": {"choices": LEVELS, "help": "the authority level under test (default L4)"},
    "policies": {"metavar": "DIR", "help": "a directory with another Rego policy"},
    "opa-url": {"metavar": "URL", "help": "decide in a running OPA server instead of the embedded engine"},
    "opa-token-env": {"metavar": "NAME", "help": "the environment variable that holds the token of that server"},
    "opa-binary": {"metavar": "PATH", "help": "start this `opa` for the session and decide in it"},
    "artifacts": {
        "metavar": "DIR",
        "help": "where sessions go, each in a folder of its own (default .soclab beside pytest's rootdir)",
    },
    "summary": {
        "metavar": "PATH",
        "help": "also append the Markdown summary here (default: $GITHUB_STEP_SUMMARY)",
    },
    "sarif": {"metavar": "PATH", "help": "also write red trials as SARIF 2.1.0"},
    "previous": {
        "metavar": "PATH",
        "help": "an earlier results.json: the summary shows the differences",
    },
    "require-level": {"choices": LEVELS, "help": "fail the session below this recommended level"},
    "report-only": {"action": "store_true", "help": "measure without failing"},
    "assurance-profile": {"metavar": "NAME|PATH", "help": "the ladder to climb (default: default)"},
    "no-reach": {"action": "store_true", "help": "do not try every single call of each incident"},
    "repeat": {"metavar": "N", "type": repeats, "help": "trials of each unit (default 1)"},
    "retry": {
        "metavar": "N",
        "type": positive,
        "help": "try a live trial up to N times more where its agent failed before it attempted anything",
    },
    "resume": {"metavar": "DIR", "help": "take over what this session finished, and run only what is missing"},
    "opa-recheck": {
        "choices": ("sample", "all"),
        "help": "how much of what an OPA server decides the embedded engine decides again (default: a sample)",
    },
    "adaptive": {
        "action": "store_true",
        "help": "repeat only where a repeat can change the level or a gate; --soclab-repeat is the most",
    },
    "timeout": {
        "metavar": "SECONDS",
        "type": seconds,
        "help": "how long an agent may work on a case (default 60)",
    },
    "agent-command": {
        "metavar": "COMMAND",
        "help": "the agent is this command, started for each trial and connected over MCP",
    },
    "agent-url": {
        "metavar": "URL",
        "help": "the agent is this service, asked over HTTP for each trial (a2a+http://… for A2A)",
    },
    "model": {
        "metavar": "PROVIDER:NAME",
        "help": "the agent is the built-in loop with this model, such as openai:gpt-4o-mini (extra `models`)",
    },
    "prompt": {"metavar": "FILE", "help": "another prompt for commands, services and the built-in loop"},
    "model-proxy": {
        "metavar": "URL|default",
        "help": "stand between a command and its model: count, limit, record; URL is the provider's",
    },
    "max-cost": {"metavar": "TRIAL/SESSION", "type": limits, "help": "the most dollars of models, such as 0.05/2"},
    "max-tokens": {"metavar": "TRIAL/SESSION", "type": limits, "help": "the most tokens, such as 50000/2000000"},
    "max-time": {"metavar": "TRIAL/SESSION", "type": limits, "help": "the most seconds, such as 60/3600"},
    "record": {"metavar": "DIR", "help": "record what models are asked and answer, a file for each trial"},
    "replay": {"metavar": "DIR", "help": "answer from a recording, with no model"},
    "agent-env": {
        "metavar": "NAME",
        "action": "append",
        "help": "a variable that the command gets from your environment (repeatable, or A,B)",
    },
    "agent-name": {"metavar": "NAME", "help": "what reports call the command (default: its script or program)"},
    "agent-model": {
        "metavar": "NAME",
        "help": "the model behind the command, as reports and policies name it",
    },
    "agent-user": {"metavar": "USER", "help": "run the command as this user, which needs the right to do so"},
    "plays": {
        "metavar": "NAMES",
        "help": "which ways to play each attack, such as plain,padded (default: all of them)",
    },
    "withhold": {
        "metavar": "WHAT",
        "action": "append",
        "help": "take tools from your agent: `lookup`, a kind of evidence, a server or a tool (repeatable)",
    },
    "plan": {"action": "store_true", "help": "run nothing; say what the session will take, told from a stored one"},
    "bundled": {"action": "store_true", "help": "run the corpus that the package brings"},
    "shard": {"metavar": "PART/WHOLE", "type": shard, "help": "run one part of the corpus, such as 1/4"},
}
_GATE: dict[str, dict[str, Any]] = {
    "baseline": {
        "metavar": "RUN",
        "action": "append",
        "help": "a scored run of the baseline (repeatable)",
    },
    "candidate": {
        "metavar": "RUN",
        "action": "append",
        "help": "a scored run of the candidate (repeatable)",
    },
    "baseline-m": {
        "metavar": "M",
        "type": positive,
        "help": "found in M baseline runs (default: a majority)",
    },
    "candidate-m": {
        "metavar": "M",
        "type": positive,
        "help": "found in M candidate runs (default: a majority)",
    },
    "sheet": {"metavar": "CSV", "help": "the blind scoring sheet of `blind:NAME` runs"},
    "map": {"metavar": "JSON", "help": "the sealed map of the blind sheet"},
    "settings": {"metavar": "JSON", "help": "stored settings with tool declarations"},
    "words": {"metavar": "FILE", "help": "further scoring words, one line each: `✅: found`"},
    "key": {"metavar": "REGEX", "help": "what of a label is the item's key"},
    "items": {"metavar": "FILE", "help": "the items that every run must score"},
    "expect-items": {"metavar": "N", "type": positive, "help": "how many items every run must score"},
    "allow-unread": {"action": "store_true", "help": "only name what looks like an item and is not read"},
}


def is_incident(path: Path) -> bool:
    """Tell whether a file is an incident of a corpus: it lies in `incidents/`, beside `attacks/` or `controls/`."""
    root = path.parent.parent
    return path.parent.name == "incidents" and ((root / "attacks").is_dir() or (root / "controls").is_dir())


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
