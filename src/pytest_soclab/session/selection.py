"""The choice among items that pytest cannot make itself: shards, and ids within the bundled corpus."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from pytest_soclab.base import resources
from pytest_soclab.base.errors import UsageError
from pytest_soclab.session import state
from pytest_soclab.session.census import in_shard
from pytest_soclab.session.command import named
from pytest_soclab.session.items import ScenarioItem
from pytest_soclab.session.reach_items import ReachItem


def point_at_bundled(config: pytest.Config) -> None:
    """Have the session collect the bundled corpus, and keep what is named within it for `select`.

    pytest prints ids such as `attacks/ATK-001-….yaml::ATK-001[plain-protected]` for it, which no path leads to.
    """
    own = resources.scenarios()
    given = named(config)
    within = [argument for argument in given if _is_within(argument, own, config.invocation_params.dir)]
    state.of(config).chosen = tuple(within)
    config.args[:] = [*(argument for argument in given if argument not in within), str(own)]


def _is_within(argument: str, corpus: Path, here: Path) -> bool:
    path = argument.partition("::")[0]
    return bool(path) and not (here / path).exists() and (corpus / path).exists()


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the scenarios of other shards, and what a choice within the bundled corpus leaves out.

    Raises:
        UsageError: when a chosen id is none of the corpus.
    """
    shard = state.of(config).lab().settings.shard
    chosen = state.of(config).chosen
    own = [item for item in items if isinstance(item, ScenarioItem)]
    out: set[pytest.Item] = {item for item in own if not in_shard(item.spec.loaded.scenario.id, shard)}
    out |= {item for item in items if isinstance(item, ReachItem) and not in_shard(item.incident, shard)}
    if chosen:
        out |= _others(items, chosen)
    if out:
        config.hook.pytest_deselected(items=[item for item in items if item in out])
        items[:] = [item for item in items if item not in out]


def _others(items: Iterable[pytest.Item], chosen: Iterable[str]) -> set[pytest.Item]:
    """Return the bundled scenarios and incidents that no choice names."""
    corpus = resources.scenarios()
    ours = (ScenarioItem, ReachItem)
    own: set[pytest.Item] = {i for i in items if isinstance(i, ours) and i.path.is_relative_to(corpus)}
    kept: set[pytest.Item] = set()
    for choice in chosen:
        found = {item for item in own if _names(choice, item, corpus)}
        if not found:
            remedy = "`pytest --soclab-bundled --collect-only -q` lists all"
            raise UsageError(f"{choice}: found no such item in the bundled corpus; {remedy}")
        kept |= found
    return own - kept


def _names(choice: str, item: pytest.Item, corpus: Path) -> bool:
    path, _, name = choice.partition("::")
    place = corpus / path
    return item.path.is_relative_to(place) and name in ("", item.name)


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take out the plays that do not apply to their scenario, of the items that are still selected.

    Raises:
        SoclabError: when what a play is derived from cannot be made.
    """
    lab = state.of(config).lab()
    out = {item for item in items if isinstance(item, ScenarioItem) and not item.applies()}
    lab.inapplicable |= {(item.spec.loaded.scenario.id, item.spec.play) for item in out}
    if out:
        items[:] = [item for item in items if item not in out]
