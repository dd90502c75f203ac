"""Services that speak A2A: a server of the protocol's own SDK, in an environment of its own, asked by the lab."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from core.support import CONTROL, Bench, of_type
from pytest_soclab.base.errors import UsageError
from pytest_soclab.base.settings import Settings
from pytest_soclab.evidence.results import Verdict
from pytest_soclab.fronts import configured
from pytest_soclab.fronts.outside import ServiceAgent

from .environments import python_with

SERVER = """
import asyncio, json, socket, sys, urllib.request

import uvicorn
from a2a.helpers.proto_helpers import get_data_parts, new_data_part, new_message, new_text_message, new_text_part
from a2a.helpers.proto_helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface
from starlette.applications import Starlette

def call(url, tool, **arguments):
    params = {"name": tool, "arguments": arguments}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    answer = urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": "application/json"}))
    return json.loads(json.load(answer)["result"]["content"][0]["text"])

def work(url):
    call(url, "siem_search", query="user:alex.rivera source:helpdesk")
    found = call(url, "siem_search", query="user:alex.rivera")["evidence"]
    call(url, "identity_disable_account", user="alex.rivera", reason="account taken over", cites=[found])
    claims = [{"text": "sign-ins from abroad", "evidence": [found]}]
    return {"finding": {"summary": "taken over", "verdict": "true_positive", "claims": claims}}

class Agent(AgentExecutor):
    async def execute(self, context, queue):
        (asked,) = get_data_parts(context.message.parts)
        assert asked["protocol"] == "soclab-agent/1" and asked["prompt"] in context.get_user_input()
        await globals()[sys.argv[1]](asked["mcp_url"], context, queue)

    async def cancel(self, context, queue):
        pass

async def at_once(url, context, queue):
    finding = await asyncio.to_thread(work, url)
    await queue.enqueue_event(new_message([new_text_part("done"), new_data_part(finding)]))

async def as_a_task(url, context, queue):
    await queue.enqueue_event(new_task_from_user_message(context.message))
    updater = TaskUpdater(queue, context.task_id, context.context_id)
    await updater.start_work()
    finding = await asyncio.to_thread(work, url)
    await updater.add_artifact([new_text_part("done"), new_data_part(finding)])
    await updater.complete()

async def fails(url, context, queue):
    await asyncio.to_thread(work, url)
    await queue.enqueue_event(new_task_from_user_message(context.message))
    updater = TaskUpdater(queue, context.task_id, context.context_id)
    await updater.failed(updater.new_agent_message([new_text_part("no more tokens")]))

async def asks_back(url, context, queue):
    await asyncio.to_thread(work, url)
    await queue.enqueue_event(new_task_from_user_message(context.message))
    updater = TaskUpdater(queue, context.task_id, context.context_id)
    await updater.requires_input(updater.new_agent_message([new_text_part("shall I?")]))

async def hangs(url, context, queue):
    await asyncio.sleep(600)

async def floods(url, context, queue):
    await asyncio.to_thread(work, url)
    await queue.enqueue_event(new_text_message("x" * 50_000_000))

async def nonsense(url, context, queue):
    await asyncio.to_thread(work, url)
    await queue.enqueue_event(new_message([new_data_part({"finding": {"verdict": "true_positive"}})]))

own = socket.socket()
own.bind(("127.0.0.1", 0))
address = f"http://127.0.0.1:{own.getsockname()[1]}/"
card = AgentCard(
    name="agent", description="works on cases", version="1", capabilities=AgentCapabilities(streaming=False),
    default_input_modes=["text"], default_output_modes=["text"],
    supported_interfaces=[AgentInterface(url=address, protocol_binding="JSONRPC", protocol_version="1.0")],
)
handler = DefaultRequestHandler(agent_executor=Agent(), task_store=InMemoryTaskStore(), agent_card=card)
app = Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")])
print(address, flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[own])
"""


@contextmanager
def speaking(way: str, folder: Path) -> Iterator[ServiceAgent]:
    """Serve an agent that speaks A2A, at an address that the system chose."""
    script = folder / "server.py"
    script.write_text(SERVER)
    python = str(python_with("a2a-sdk[http-server]", "uvicorn"))
    server = subprocess.Popen([python, str(script), way], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield ServiceAgent(f"a2a+{server.stdout.readline().strip()}", "service")
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


@pytest.mark.slow
@pytest.mark.parametrize("way", ["at_once", "as_a_task"])
def test_a_service_that_speaks_a2a_works_on_cases(bench: Bench, tmp_path: Path, way: str) -> None:
    with speaking(way, tmp_path) as agent:
        for _ in range(2):
            outcome = bench.run(bench.unit(CONTROL), agent, timeout=60)
            assert outcome.judgement.verdict is Verdict.SERVED, outcome.cause
            assert [p["tool"] for p in of_type(outcome.events, "proposal")] == [
                "siem.search", "siem.search", "identity.disable_account", "cases.publish_finding",
            ]  # fmt: skip
            assert of_type(outcome.events, "annex") == [{"note": "done"}]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "cause"),
    [
        ("fails", "the agent's task failed: no more tokens"),
        ("asks_back", "the agent's task asks for more input, and a case has no more: shall I?"),
        ("floods", "answered more than 1048576 bytes"),
        ("nonsense", "finding.summary Field required"),
    ],
)
def test_a_task_that_does_not_end_well_is_inconclusive_with_its_cause(
    bench: Bench, tmp_path: Path, way: str, cause: str
) -> None:
    with speaking(way, tmp_path) as agent:
        outcome = bench.run(bench.base, agent, timeout=60)
    assert outcome.judgement.verdict is Verdict.INCONCLUSIVE
    assert cause in outcome.cause


@pytest.mark.slow
def test_an_agent_that_hangs_is_broken_off(bench: Bench, tmp_path: Path) -> None:
    with speaking("hangs", tmp_path) as agent:
        started = time.monotonic()
        outcome = bench.run(bench.base, agent, timeout=2)
        assert time.monotonic() - started < 8
    assert "did not finish within 2 s" in outcome.cause
    assert not [t for t in threading.enumerate() if t.name.startswith("soclab-")]


def test_an_agent_that_is_not_there_is_a_cause(bench: Bench) -> None:
    outcome = bench.run(bench.base, ServiceAgent("a2a+http://127.0.0.1:9/", "none"), timeout=30)
    assert "the agent's service could not be asked" in outcome.cause
    assert outcome.judgement.verdict is Verdict.INCONCLUSIVE


def test_without_the_sdk_the_option_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "a2a", None)
    with pytest.raises(UsageError, match=r"needs the extra `a2a`"):
        configured.brought(Settings(agent_url="a2a+http://127.0.0.1:9/"), tmp_path)


def test_the_option_makes_such_an_agent(tmp_path: Path) -> None:
    made: Any = configured.brought(Settings(agent_url="a2a+http://127.0.0.1:9/"), tmp_path)
    assert (made.url, made.name) == ("a2a+http://127.0.0.1:9/", "agent at 127.0.0.1:9")
