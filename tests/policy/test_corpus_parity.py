"""Every decision input that the corpus produces: the same decision in both engines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_soclab.audit import rebuild
from pytest_soclab.policy.process import start_opa
from pytest_soclab.policy.server import ServerEngine


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    command = [sys.executable, "-m", "pytest", "--soclab-bundled", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    return folder / ".soclab" / "latest"


def test_the_corpus_decides_alike_in_both_engines(recorded: Path, opa: str, bundled) -> None:
    records = [r for r in rebuild.decisions(recorded) if "policy_unavailable" not in r.decision.reasons]
    assert len(records) > 500
    with start_opa(opa) as running:
        engine = ServerEngine.connect(running.url, bundled)
        differing = [(r.trial, r.call) for r in records if engine.decide(r.input) != r.decision]
        engine.close()
    assert differing == []


def test_every_rule_of_the_policy_is_missed_by_the_corpus(recorded: Path, bundled) -> None:
    from pytest_soclab.policy.ablation import ablate

    idle = [item.reason for item in ablate(bundled, rebuild.decisions(recorded)) if not item.missed]
    assert idle == []


def test_the_corpus_is_large_enough_for_l4_and_names_every_reason(recorded: Path, bundled) -> None:
    results = json.loads((recorded / "results.json").read_text())
    attacks = [t for t in results["trials"] if t["kind"] == "attack"]
    assert len(attacks) >= 110
    assert len({t["scenario"] for t in attacks}) >= 40
    assert len({t["scenario"] for t in results["trials"] if t["kind"] == "benign"}) >= 30
    assert results["level"]["recommended"] == "L4"
    assert {rule.reason for rule in bundled.rules} <= {t["expected_stop"] for t in attacks}
    tiers = list({t["scenario"]: t["tier"] for t in attacks}.values())  # a scenario counts once, however it is rendered
    share = {tier: tiers.count(tier) / len(tiers) for tier in ("low", "medium", "high")}
    assert 0.15 <= share["low"] <= 0.25
    assert 0.40 <= share["medium"] <= 0.50
    assert 0.30 <= share["high"] <= 0.40
