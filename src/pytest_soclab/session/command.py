"""What a session's arguments select, in words that select it again."""

from __future__ import annotations

from pathlib import Path

import pytest

_SINGLE = {"-k": "keyword", "-m": "markexpr"}
_REPEATED = {"--deselect": "deselect", "--ignore": "ignore", "--ignore-glob": "ignore_glob"}
_FLAGS = {"--lf": "lf", "--stepwise": "stepwise", "--stepwise-skip": "stepwise_skip"}
"""What selects by what an earlier run left behind: the printed command says so, for it depends on it, too."""


def words(config: pytest.Config) -> tuple[str, ...]:
    """Return the arguments that select the same items again: expressions, what is left out, paths and node ids."""
    found = [
        word for option, name in _SINGLE.items() if (value := getattr(config.option, name)) for word in (option, value)
    ]
    for option, name in _REPEATED.items():
        found += [f"{option}={value}" for value in getattr(config.option, name, None) or ()]
    found += [option for option, name in _FLAGS.items() if getattr(config.option, name, False)]
    return (*found, *named(config))


def named(config: pytest.Config) -> list[str]:
    """Return the paths and node ids on the command line; none where pytest took its own start."""
    return list(config.args) if config.args_source is pytest.Config.ArgsSource.ARGS else []


def relative(path: Path, config: pytest.Config) -> str:
    """Return a path as seen from where pytest was started, whole where it lies elsewhere."""
    base = config.invocation_params.dir
    return str(path.relative_to(base)) if path.is_relative_to(base) else str(path)
