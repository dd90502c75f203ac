"""One plan through every front gives the same transcript, event by event, and so the same verdict and changes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from core.support import Bench, Live
from pytest_soclab.base import resources
from pytest_soclab.evidence.results import Arm
from pytest_soclab.fronts.outside import CommandAgent
from pytest_soclab.fronts.spending import Limits, ProxySettings, Spending
from pytest_soclab.fronts.tool_view import portable
from pytest_soclab.scenario.load import load_scenario
from pytest_soclab.trials.lab import Lab
from pytest_soclab.trials.trial import Outcome
from pytest_soclab.trials.unit import Unit

from .scripted_model import Plan, Step, model
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
BY_A_MODEL = """
where = urlsplit(os.environ["OPENAI_BASE_URL"])
messages = [{"role": "user", "content": sys.stdin.read()}]
while True:
    own = http.client.HTTPConnection(where.hostname, where.port)
    own.request("POST", where.path + "/chat/completions", json.dumps({"model": "m", "messages": messages}), JSON)
    said = json.loads(own.getresponse().read())["choices"][0]["message"]
    messages.append(said)
    for one in said.get("tool_calls", ()):
        made = one["function"]
        answer = rpc("tools/call", name=made["name"], arguments=json.loads(made["arguments"]))
        text = answer["result"]["content"][0]["text"]
        messages.append({"role": "tool", "tool_call_id": one["id"], "content": text})
    if not said.get("tool_calls"):
        break
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


def says(unit: Unit) -> Plan:
    """Return a model that says what the plan does next."""
    steps = plan(unit)

    def next_step(results: Sequence[str]) -> Step | None:
        if len(results) == len(steps):
            return None
        step = steps[len(results)]
        cites = {"cites": step["cites"]} if step["cites"] and step["takes_cites"] else {}
        return Step(step["name"], {**step["arguments"], **cites})

    return next_step


def by_a_model(folder: Path, upstream: str) -> CommandAgent:
    """Return a loop of a few lines that does what a model behind the proxy says."""
    (folder / "loop.py").write_text(HEAD + BY_A_MODEL)
    proxy = ProxySettings(upstream, Spending(Limits(), "session"), Limits())
    return CommandAgent((sys.executable, "-I", "-S", str(folder / "loop.py")), NAME, proxy=proxy)


def story(outcome: Outcome) -> list[Any]:
    """Return a transcript without what a front may say beside it, and what was made of it."""
    kept = [(e["type"], e["at"], e["data"]) for e in outcome.events if e["type"] != "annex"]
    judgement = outcome.judgement
    judged = [judgement.verdict, judgement.stop.reasons, outcome.passed, outcome.breaches, outcome.gates]
    grade = outcome.grade and outcome.grade.model_copy(update={"tokens": None, "cost": None})  # a proxy counts them
    return [*kept, *judged, outcome.changes, grade, outcome.citations]


def units(lab: Lab, path: Path) -> Iterator[Unit]:
    loaded = load_scenario(path, lab.vocabulary, path.name)
    yield lab.unit(loaded, next(iter(loaded.scenario.variants)))


def check(bench: Bench, path: Path, folder: Path, arm: Arm) -> None:
    for unit in units(bench.lab, path):
        expected = story(bench.run(unit, in_process(unit), arm=arm, timeout=60))
        assert story(bench.run(unit, over_mcp(unit, folder, "http"), arm=arm, timeout=60)) == expected, "http"
        if arm is Arm.PROTECTED:  # there is nothing to decide in the other one, so that one front speaks for all
            for way, found in others(bench, unit, folder):
                assert story(found) == expected, way


def others(bench: Bench, unit: Unit, folder: Path) -> Iterator[tuple[str, Outcome]]:
    """Yield what becomes of a plan over every other front."""
    yield "stdio", bench.run(unit, over_mcp(unit, folder, "stdio"), timeout=60)
    with service(follows(unit)) as agent:
        yield "service", bench.run(unit, replace(agent, name=NAME), timeout=60)
    with model(says(unit)) as upstream:
        yield "model proxy", bench.run(unit, by_a_model(folder, upstream), timeout=60)


@pytest.mark.parametrize("path", scenarios()[::12], ids=lambda path: path.stem)
def test_a_sample_of_plans_gives_the_same_over_every_front(bench: Bench, tmp_path: Path, path: Path) -> None:
    check(bench, path, tmp_path, Arm.PROTECTED)


@pytest.mark.slow
def test_every_plan_of_the_corpus_gives_the_same_over_every_front(bench: Bench, tmp_path: Path) -> None:
    assert len(scenarios()) > 100
    for path in scenarios():
        for arm in Arm:
            check(bench, path, tmp_path, arm)
