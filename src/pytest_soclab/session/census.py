"""What a process selected of the corpus, as plain data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_soclab.scenario import corpus
from pytest_soclab.scenario.load import LoadedScenario
from pytest_soclab.session.items import ScenarioItem, texts
from pytest_soclab.trials.lab import Lab


def in_shard(name: str, shard: tuple[int, int] | None) -> bool:
    """Tell whether a scenario belongs to this shard: a stable split by the id's digest."""
    if shard is None:
        return True
    part, whole = shard
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) % whole == part - 1


def census(lab: Lab, items: Iterable[pytest.Item]) -> dict[str, Any]:
    """Return what this process selected, as `items` (see `selected`), and how large the corpus is, as plain JSON."""
    own = [item for item in items if isinstance(item, ScenarioItem)]
    loaded = {item.path: item.spec.loaded for item in own}
    roots = frozenset(root for one in loaded.values() for root in corpus.roots_of(one))
    files = corpus.files_of(roots) | {corpus.real(name) for name in lab.ids.values()} if own else frozenset()
    wanted = [item for item in own if not item.get_closest_marker("skip") and not item.above]
    return {
        "corpus": len(files - lab.above_level),
        "corpus_digest": corpus.digest_of(files) if files else "",
        "above": [_above(item) for item in own if item.above],
        "repeat": lab.settings.repeat,
        "incidents": sorted({one.scenario.incident for one in loaded.values() if _brought(one, roots)}),
        "items": wanted,
        "digests": {item.spec.loaded.scenario.id: item.spec.loaded.digest for item in own},
        "variants": {i.spec.loaded.scenario.id: _wanted(lab, i) for i in {item.path: item for item in wanted}.values()},
    }


def _wanted(lab: Lab, item: ScenarioItem) -> list[str]:
    """Return what a whole run of a scenario holds: its texts, and every play that is not known not to apply."""
    loaded, live = item.spec.loaded, item.live
    plays = () if live else lab.plays_of(loaded.scenario, every=True)
    left_out = {play for scenario, play in lab.inapplicable if scenario == loaded.scenario.id}
    return [*texts(loaded, live), *(play for play in plays if play not in left_out)]


def _brought(loaded: LoadedScenario, roots: frozenset[Path]) -> bool:
    """Tell whether the corpus of a scenario brings the incident that it plays in."""
    return loaded.incident_path.parent.parent in roots


def _above(item: ScenarioItem) -> dict[str, str]:
    scenario = item.spec.loaded.scenario
    return {"scenario": scenario.id, "from_level": scenario.from_level.value, "trial": item.spec.trial}


def selected(items: Iterable[ScenarioItem]) -> Iterator[dict[str, Any]]:
    """Yield the records of selected items before they ran, as plain JSON."""
    return (item.skeleton().model_dump(mode="json") for item in items)
