"""The official client of the protocol, in both of its majors, which cannot be installed together."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.support import CONTROL, Bench, of_type
from pytest_soclab.evidence.results import Verdict
from pytest_soclab.fronts.outside import CommandAgent

from .environments import python_with

FIRST = """
import asyncio, json, os, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

def transport():
    if sys.argv[1] == "http":
        return streamablehttp_client(os.environ["SOCLAB_MCP_URL"])
    command, *words = json.loads(os.environ["SOCLAB_MCP_COMMAND"])
    return stdio_client(StdioServerParameters(command=command, args=words))

async def main():
    async with transport() as streams, ClientSession(*streams[:2]) as session:
        await session.initialize()
        await session.send_ping()
        await work(session, (await session.list_tools()).tools)
"""
SECOND = """
import asyncio, json, os, sys
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

def transport():
    if sys.argv[1] == "http":
        return os.environ["SOCLAB_MCP_URL"]
    command, *words = json.loads(os.environ["SOCLAB_MCP_COMMAND"])
    return stdio_client(StdioServerParameters(command=command, args=words))

async def main():
    async with Client(transport()) as session:
        await session.send_ping()
        await work(session, (await session.list_tools()).tools)
"""
WORK = """
async def call(session, name, **arguments):
    result = await session.call_tool(name, arguments)
    assert not getattr(result, "isError", False) and not getattr(result, "is_error", False)
    return json.loads(result.content[0].text)

async def work(session, tools):
    assert "identity_disable_account" in {tool.name for tool in tools}
    query = {"query": "user:alex.rivera", "case": None}
    found = await call(session, "siem_search", **query)
    many = await asyncio.gather(*(call(session, "siem_search", query="user:alex.rivera", limit=n) for n in range(1, 9)))
    assert [len(one["data"]["events"]) for one in many] == list(range(1, 9)), many
    denied = await call(session, "identity_disable_account", user="svc-backup", cites=[found["evidence"]])
    assert "protected_asset" in denied["denied"], denied
    done = await call(session, "identity_disable_account", user="alex.rivera", reason="account taken over",
                      cites=[found["evidence"]])
    assert "denied" not in done, done

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["http", "stdio"])
@pytest.mark.parametrize(("requirement", "body"), [("mcp<2", FIRST), ("mcp>=2", SECOND)], ids=["first", "second"])
def test_the_official_client_is_served(bench: Bench, tmp_path: Path, requirement: str, body: str, way: str) -> None:
    script = tmp_path / "client.py"
    script.write_text(body + WORK)
    agent = CommandAgent((str(python_with(requirement)), str(script), way), "client")
    outcome = bench.run(bench.unit(CONTROL), agent, timeout=120)
    (annex,) = of_type(outcome.events, "annex")
    assert outcome.judgement.verdict is Verdict.SERVED, (outcome.cause, annex["stderr"]["end"])
    assert len(of_type(outcome.events, "proposal")) == 11
