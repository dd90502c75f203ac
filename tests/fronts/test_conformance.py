"""The scenarios of the protocol's conformance suite that concern a server of tools, and the revision that HTTP names.

The names are the suite's: server-initialize, ping, tools-list, dns-rebinding-protection. Sources: the specification of
2025-11-25, pages lifecycle, ping, tools and transports. The suite itself needs Node; these need nothing.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_soclab.fronts.listener import Listener
from pytest_soclab.fronts.mcp import NEWEST, REVISIONS

from .support import Client, listening

REVISION = "MCP-Protocol-Version"


def message(method: str, params: Any = None, number: Any = 7) -> bytes:
    given = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps({name: value for name, value in given.items() if value is not None}).encode()


def hello(revision: str) -> bytes:
    who = {"name": "conformance-test-client", "version": "1.0.0"}
    return message("initialize", {"protocolVersion": revision, "capabilities": {}, "clientInfo": who})


def result(listener: Listener, body: bytes, headers: dict[str, str] | None = None) -> dict[str, Any]:
    accepts = {"Accept": "application/json, text/event-stream", **(headers or {})}
    status, answer = Client(listener.url).send(body, accepts)
    told: dict[str, Any] = json.loads(answer)
    assert (status, told["jsonrpc"], told["id"]) == (200, "2.0", 7), told
    return dict(told["result"])


@pytest.mark.parametrize("revision", REVISIONS)
def test_server_initialize(revision: str) -> None:
    with listening() as (listener, server):
        told = result(listener, hello(revision))
        assert told["protocolVersion"] == revision
        assert isinstance(told["capabilities"], dict)
        assert all(isinstance(told["serverInfo"][name], str) for name in ("name", "version"))
        agreed = {REVISION: revision}
        assert Client(listener.url).send(message("notifications/initialized", number=None), agreed) == (202, b"")
        assert server.lost == []


def test_ping() -> None:
    with listening() as (listener, _):
        assert result(listener, message("ping")) == {}
        assert result(listener, message("ping"), {REVISION: NEWEST}) == {}


def test_tools_list() -> None:
    with listening() as (listener, _):
        tools = result(listener, message("tools/list"), {REVISION: NEWEST})["tools"]
    assert len({tool["name"] for tool in tools}) == len(tools) > 20
    for tool in tools:
        assert isinstance(tool["description"], str)
        assert tool["description"]
        assert tool["inputSchema"]["type"] == "object"


@pytest.mark.parametrize("host", ["localhost:{port}", "127.0.0.1:{port}"])
def test_dns_rebinding_protection_accepts_this_machine(host: str) -> None:
    with listening() as (listener, _):
        own = host.format(port=listener.port)
        assert result(listener, hello(NEWEST), {"Host": own, "Origin": f"http://{own}"})["protocolVersion"] == NEWEST


@pytest.mark.parametrize("named", [("Host",), ("Origin",), ("Host", "Origin")])
def test_dns_rebinding_protection_refuses_others(named: tuple[str, ...]) -> None:
    evil = {"Host": "evil.example.com", "Origin": "http://evil.example.com"}
    with listening() as (listener, _):
        status, _answer = Client(listener.url).send(hello(NEWEST), {name: evil[name] for name in named})
        assert 400 <= status < 500


UNSPOKEN = ["2026-07-28", "1999-01-01", "", "latest", "2025-11-25, 2025-06-18"]


@pytest.mark.parametrize("revision", UNSPOKEN)
def test_an_unknown_revision_in_the_header_is_a_bad_request(revision: str) -> None:
    with listening() as (listener, server):
        client = Client(listener.url)
        for method, code in (("ping", -32601), ("tools/list", -32601), ("server/discover", -32601)):
            status, answer = client.send(message(method), {REVISION: revision})
            told = json.loads(answer)
            assert (status, told["id"], told["error"]["code"]) == (400, 7, code)
            assert NEWEST in told["error"]["message"]
        assert server.lost == []
        assert client.send(hello(NEWEST), {REVISION: revision})[0] == 200  # this is where a revision is agreed on


def test_a_call_under_an_unknown_revision_is_not_served_and_noted() -> None:
    asked: list[Any] = []
    with listening(lambda *given: asked.append(given)) as (listener, server):
        call = message("tools/call", {"name": "siem_search", "arguments": {}})
        assert Client(listener.url).send(call, {REVISION: "1999-01-01"})[0] == 400
        assert asked == []
        assert "MCP-Protocol-Version '1999-01-01' is not spoken here" in server.lost[0]


def test_what_follows_a_bad_request_on_the_same_connection_is_served() -> None:
    with listening() as (listener, _):
        client = Client(listener.url)
        assert client.send(message("ping"), {REVISION: "1999-01-01"})[0] == 400
        assert client.rpc("ping")["result"] == {}
