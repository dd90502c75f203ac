"""What `soclab incidents` prints: the names that somebody who writes a scenario may use."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_soclab.base import resources
from pytest_soclab.base.errors import UsageError, nearest, printable
from pytest_soclab.base.settings import Settings
from pytest_soclab.scenario.corpus import INCIDENTS
from pytest_soclab.scenario.load import LoadedIncident, load_incident
from pytest_soclab.soc.registry import Tool
from pytest_soclab.soc.world import World
from pytest_soclab.trials.lab import Lab

_WIDTH, _LABEL = 118, 22


def incidents(name: str | None) -> str:
    """Return the list of incidents, those of ./scenarios before the bundled ones, or all about one.

    Raises:
        UsageError: when there is no incident of that name.
        ScenarioError: when its file is wrong.
    """
    files = _files()
    lab = Lab(Settings())
    if name is None:
        lines = [_row(stem, load_incident(file, lab.vocabulary).incident.title) for stem, file in sorted(files.items())]
        return "".join([*lines, "\nsoclab incidents NAME shows what one of them holds.\n"])
    if name not in files:
        raise UsageError(f"found no incident {name!r}; {nearest(name, files)}")
    loaded, prepared = lab.incident(files[name])
    return "".join(_shown(loaded, prepared.base, lab.registry.tools.values()))


def _files() -> dict[str, Path]:
    folders = [resources.scenarios() / INCIDENTS, Path("scenarios") / INCIDENTS]
    return {file.stem: file for folder in folders for file in sorted(folder.glob("*.yaml"))}


def _row(label: str, text: str) -> str:
    indent = " " * (_LABEL + 2)
    head = f"{printable(label):<{_LABEL}}  "
    wrapped = textwrap.fill(
        printable(text) or "-", _WIDTH, initial_indent=head, subsequent_indent=indent, break_on_hyphens=False,
        break_long_words=False,
    )  # fmt: skip
    return wrapped + "\n"


def _shown(loaded: LoadedIncident, base: World, tools: Iterable[Tool]) -> Iterator[str]:
    incident = loaded.incident
    yield _row("incident", f"{incident.id}: {incident.title}")
    yield _row("goal", incident.goal)
    yield _row("alert", f"{incident.alert.id}: {incident.alert.message}")
    yield "\nIn scope: what the work is about, by kind\n"
    yield from _named(base.charter.scope)
    assets = base.charter.assets or {}
    yield _row("protected", ", ".join(sorted(name for name, asset in assets.items() if asset.protected)))
    yield "\nRecords: the ids in each table; `given` adds rows, or changes one of the same id\n"
    yield from _named({name: rows for name, rows in base.tables.items() if rows})
    yield "\nTools: what an agent may call, with the arguments of each\n"
    for tool in sorted(tools, key=lambda tool: tool.name):
        yield _row(tool.name, _arguments(tool))


def _named(groups: Mapping[str, Iterable[Any]]) -> Iterator[str]:
    return (_row(kind, ", ".join(sorted(map(str, names)))) for kind, names in sorted(groups.items()))


def _arguments(tool: Tool) -> str:
    fields = tool.arguments.model_fields
    return ", ".join(name if info.is_required() else f"[{name}]" for name, info in fields.items())
