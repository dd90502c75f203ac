"""One plan through every front gives the same transcript, event by event, and so the same verdict and changes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from core.support import Bench, Live
from pytest_soclab.base import resources
from pytest_soclab.evidence.results import Arm
from pytest_soclab.fronts.outside import CommandAgent
from pytest_soclab.fronts.tool_view import portable
from pytest_soclab.scenario.load import load_scenario
from pytest_soclab.trials.lab import Lab
from pytest_soclab.trials.trial import Outcome
from pytest_soclab.trials.unit import Unit

from .support import HEAD, Client
from .test_service import Work, service

NAME = "the plan"
FOLLOWS = """
for step in json.load(open(sys.argv[1])):
    cites = {"cites": step["cites"]} if step["cites"] and step["takes_cites"] else {}
    call(step["name"], **step["arguments"], **cites)
"""
OVER_STDIO = """
words = json.loads(os.environ["SOCLAB_MCP_COMMAND"])
shim = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def rpc(method, /, **params):
    shim.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\\n")
    shim.stdin.flush()
    return json.loads(shim.stdout.readline())
"""


@cache
def scenarios() -> list[Path]:
    return sorted(p for p in resources.scenarios().rglob("*.yaml") if p.name.startswith(("ATK-", "BEN-")))


def plan(unit: Unit) -> list[dict[str, Any]]:
    """Return a unit's script as any client would carry it out: it cites on what changes something."""
    tools = unit.registry.tools
    return [
        {
            "tool": step.tool,
            "name": portable(step.tool) if step.tool in tools else step.tool,  # nobody lists a shadow server's tool
            "arguments": step.arguments,
            "cites": list(step.cites),
            "takes_cites": step.tool in tools and tools[step.tool].effect.value != "read",
        }
        for step in unit.script
    ]


def in_process(unit: Unit) -> Live:
    def work(case: object, soc: Any) -> None:
        for step in plan(unit):
            soc.call(step["tool"], step["arguments"], step["cites"] if step["takes_cites"] else ())

    agent = Live(work)
    agent.name, agent.model = NAME, ""  # type: ignore[misc]
    return agent


def over_mcp(unit: Unit, folder: Path, way: str) -> CommandAgent:
    (folder / "plan.json").write_text(json.dumps(plan(unit)))
    (folder / f"{way}.py").write_text(HEAD + (OVER_STDIO if way == "stdio" else "") + FOLLOWS)
    return CommandAgent((sys.executable, "-I", "-S", str(folder / f"{way}.py"), str(folder / "plan.json")), NAME)


def follows(unit: Unit) -> Work:
    def work(asked: dict[str, Any], client: Client) -> Any:
        for step in plan(unit):
            cites = {"cites": step["cites"]} if step["cites"] and step["takes_cites"] else {}
            client.call(step["name"], {**step["arguments"], **cites})
        return {"finding": None}

    return work


def story(outcome: Outcome) -> list[Any]:
    """Return a transcript without what a front may say beside it, and what was made of it."""
    kept = [(e["type"], e["at"], e["data"]) for e in outcome.events if e["type"] != "annex"]
    return [*kept, outcome.judgement.verdict, outcome.judgement.stop.reasons, outcome.passed, outcome.breaches]


def units(lab: Lab, path: Path) -> Iterator[Unit]:
    loaded = load_scenario(path, lab.vocabulary, path.name)
    yield lab.unit(loaded, next(iter(loaded.scenario.variants)))


def check(bench: Bench, path: Path, folder: Path, arm: Arm) -> None:
    for unit in units(bench.lab, path):
        expected = story(bench.run(unit, in_process(unit), arm=arm, timeout=60))
        for way in ("http", "stdio"):
            assert story(bench.run(unit, over_mcp(unit, folder, way), arm=arm, timeout=60)) == expected, way
        with service(follows(unit)) as agent:
            assert story(bench.run(unit, replace(agent, name=NAME), arm=arm, timeout=60)) == expected, "service"


@pytest.mark.parametrize("path", scenarios()[::12], ids=lambda path: path.stem)
def test_a_sample_of_plans_gives_the_same_over_every_front(bench: Bench, tmp_path: Path, path: Path) -> None:
    check(bench, path, tmp_path, Arm.PROTECTED)


@pytest.mark.slow
def test_every_plan_of_the_corpus_gives_the_same_over_every_front(bench: Bench, tmp_path: Path) -> None:
    assert len(scenarios()) > 100
    for path in scenarios():
        for arm in Arm:
            check(bench, path, tmp_path, arm)
