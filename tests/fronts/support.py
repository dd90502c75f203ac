"""Agents that are scripts of a few lines, and a listener without a trial behind it."""

from __future__ import annotations

import http.client
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytest_soclab.fronts.listener import Listener
from pytest_soclab.fronts.mcp import Server
from pytest_soclab.fronts.outside import CommandAgent
from pytest_soclab.fronts.protocol import Case, ToolSpec
from pytest_soclab.gateway.state import ToolResult
from pytest_soclab.soc.servers import registry
from pytest_soclab.trials.unit import tool_specs

HEAD = """
import http.client, json, os, signal, socket, subprocess, sys, threading, time
from urllib.parse import urlsplit

URL = os.environ["SOCLAB_MCP_URL"]
PARTS = urlsplit(URL)
JSON = {"Content-Type": "application/json"}
line = None

def post(body, headers=JSON):
    global line
    line = line or http.client.HTTPConnection(PARTS.hostname, PARTS.port)
    line.request("POST", PARTS.path, body, headers)
    answer = line.getresponse()
    return answer.status, answer.read()

def rpc(method, /, **params):
    return json.loads(post(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode())[1])

def call(name, /, **arguments):
    answer = rpc("tools/call", name=name, arguments=arguments)
    return json.loads(answer["result"]["content"][0]["text"]) if "result" in answer else answer

def read_note():
    return call("siem_search", query="user:alex.rivera source:helpdesk")
"""
"""What every scripted agent begins with: a client of a few lines, which needs no package."""


def agent(folder: Path, body: str, **given: Any) -> CommandAgent:
    """Return an agent that is a script with this body."""
    script = folder / "agent.py"
    script.write_text(HEAD + body)
    words = given.pop("words", (sys.executable, "-I", "-S", str(script)))
    return CommandAgent(tuple(words), "agent.py", **given)


@contextmanager
def listening(call: Any = None, tools: tuple[ToolSpec, ...] | None = None) -> Iterator[tuple[Listener, Server]]:
    """Listen without a trial: every call is answered by `call`."""
    case = Case("case-1", {"id": "alert-1"}, "find out", tool_specs(registry()) if tools is None else tools)
    server = Server(case, call or (lambda tool, arguments, cites: ToolResult(True, {"tool": tool}, evidence="ev_1")))
    listener = Listener(server.answer, server.lose)
    try:
        yield listener, server
    finally:
        listener.close()
        while _OPEN:
            _OPEN.pop().close()


_OPEN: list[http.client.HTTPConnection] = []


class Client:
    """One connection to a listener."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.path, self.host = parts.path, f"{parts.hostname}:{parts.port}"
        self.connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 0, timeout=20)
        _OPEN.append(self.connection)

    def send(
        self, body: bytes, headers: Mapping[str, str] | None = None, path: str | None = None, method: str = "POST"
    ) -> tuple[int, bytes]:
        given = {"Content-Type": "application/json", **(headers or {})}
        self.connection.request(method, self.path if path is None else path, body, given)
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def rpc(self, method: str, params: Any = None, number: Any = 1) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}
        status, body = self.send(json.dumps(message).encode())
        assert status == 200, body
        answer: dict[str, Any] = json.loads(body)
        return answer

    def call(self, name: str, arguments: Any = None) -> dict[str, Any]:
        result = self.rpc("tools/call", {"name": name, "arguments": arguments})["result"]
        assert result["isError"] is False
        text: dict[str, Any] = json.loads(result["content"][0]["text"])
        return text
