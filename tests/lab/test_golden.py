"""The whole of `results.json` for a small corpus, stored: a change of shape or of a sentence shows here.

To store it anew after an intended change: `SOCLAB_WRITE_EXPECTED=1 pytest tests/lab/test_golden.py`.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_soclab.evidence.results import Results

from .conftest import ATTACK, Corpus

GOLDEN = Path(__file__).parent / "golden"


LEFT_OUT = {"timing", "scenarios", "rules", "titles", "stopped_rule"}


def is_digest(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def shape(value: Any) -> Any:
    """Return results without what changes from run to run or with any edit of policy and incident."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items() if key not in LEFT_OUT}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return "a digest" if is_digest(value) else value


RED = ATTACK.replace("ATK-001", "ATK-002").replace("evt-note-1", "evt-note-2")
RED = RED.replace("stopped_by: protected_asset", "stopped_by: entity_scope")


@pytest.mark.parametrize("mode", ["protected", "baseline", "compare"])
def test_results_are_as_stored(corpus: Corpus, mode: str) -> None:
    corpus.write("ATK-002-red.yaml", RED)
    corpus.run(f"--soclab-mode={mode}")
    found = shape(corpus.results())
    path = GOLDEN / f"results-{mode}.json"
    if os.environ.get("SOCLAB_WRITE_EXPECTED"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert found == json.loads(path.read_text(encoding="utf-8"))


def test_results_are_read_back_as_they_were_written(corpus: Corpus) -> None:
    corpus.run()
    text = (corpus.artifacts / "results.json").read_text()
    assert Results.model_validate_json(text).model_dump(mode="json") == json.loads(text)
