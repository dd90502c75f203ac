"""Says what a process selected, and how large the corpus is, as plain JSON."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_soclab.evidence.results import Arm
from pytest_soclab.scenario import corpus
from pytest_soclab.scenario.load import LoadedScenario, load_scenario
from pytest_soclab.session.items import ScenarioItem, shown_path
from pytest_soclab.session.specs import Spec, skeleton, texts
from pytest_soclab.trials.lab import Lab
from pytest_soclab.trials.unit import PLAIN

_NODE = re.compile(r"(?P<path>.*)::(?P<id>(?:ATK|BEN)-\d+)\[(?P<variant>\w+)-(?P<arm>[a-z]+)(?:-(?P<again>\d+))?\]")


def lost(lab: Lab, root: Path, nodeid: str) -> dict[str, Any] | None:
    """Return the census of one item that no process speaks for any more, read from its file; None for other items."""
    match = _NODE.fullmatch(nodeid)
    path = root / match["path"] if match else root
    if match is None or not path.is_file():
        return None
    loaded = load_scenario(path, lab.vocabulary, shown_path(path, root))
    play = PLAIN if match["variant"] in loaded.scenario.variants else match["variant"]
    spec = Spec(loaded, match["variant"], Arm(match["arm"]), int(match["again"] or 1), play)
    record = skeleton(spec, nodeid).model_dump(mode="json")
    files = corpus.files_of(corpus.roots_of(loaded))
    return {
        "selected": [record],
        "above": [],
        "scenarios": [loaded.scenario.id],
        "digests": {loaded.scenario.id: loaded.digest},
        "corpus": len(files - lab.above_level),
        "corpus_digest": corpus.digest_of(files),
    }


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
        "scenarios": sorted({item.spec.loaded.scenario.id for item in wanted}),
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
