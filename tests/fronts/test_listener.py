"""The listener and the protocol behind it, over real connections."""

from __future__ import annotations

import json
import socket
import threading
import time

import pytest

from pytest_soclab.fronts import listener as listener_module
from pytest_soclab.fronts.in_process import TrialOver
from pytest_soclab.fronts.listener import MOST_BYTES, MOST_CONNECTIONS, Listener
from pytest_soclab.gateway.state import ToolResult

from .support import Client, listening

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def head(listener: Listener) -> str:
    """Return how a request begins, for those that no client would send."""
    start = f"POST /{listener.token} HTTP/1.1\r\nHost: localhost:{listener.port}\r\n"
    return f"{start}Content-Type: application/json\r\n"


def test_a_client_is_welcomed_with_the_case() -> None:
    with listening() as (listener, _):
        result = Client(listener.url).rpc("initialize", HELLO)["result"]
    assert result["protocolVersion"] == "2025-11-25"
    assert result["serverInfo"]["name"] == "pytest-soclab"
    assert result["capabilities"] == {"tools": {"listChanged": False}}


@pytest.mark.parametrize(
    ("asked", "answered"),
    [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("2026-07-28", "2025-11-25"), (None, "2025-11-25")],
)
def test_the_revision_is_the_clients_where_it_is_known(asked: str | None, answered: str) -> None:
    with listening() as (listener, _):
        result = Client(listener.url).rpc("initialize", {**HELLO, "protocolVersion": asked})["result"]
    assert result["protocolVersion"] == answered


def test_a_newer_client_is_told_that_the_method_is_unknown_so_that_it_falls_back() -> None:
    with listening() as (listener, server):
        client = Client(listener.url)
        assert client.rpc("server/discover")["error"]["code"] == -32601
        assert client.rpc("initialize", HELLO)["result"]
        assert server.lost == []


def test_ping_and_notifications() -> None:
    with listening() as (listener, _):
        client = Client(listener.url)
        assert client.rpc("ping", number="a")["result"] == {}
        note = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
        assert client.send(note) == (202, b"")


def test_a_denial_is_a_normal_result_with_its_reasons() -> None:
    denied = ToolResult(False, error="denied: protected_asset", denied=("protected_asset",))
    with listening(lambda *_: denied) as (listener, _):
        told = Client(listener.url).call("identity_disable_account", {"user": "a"})
    assert told == {"denied": ["protected_asset"], "why": "denied: protected_asset"}


def test_a_tools_error_is_a_normal_result_too() -> None:
    with listening(lambda *_: ToolResult(False, error="there is no host")) as (listener, _):
        assert Client(listener.url).call("endpoint_get_host", {}) == {"error": "there is no host"}


def test_a_result_carries_the_evidence_to_cite() -> None:
    with listening() as (listener, _):
        assert Client(listener.url).call("siem_search", {"query": "a"})["evidence"] == "ev_1"


@pytest.mark.parametrize("name", ["no_such_tool", "identity.disable_account", ""])
def test_every_named_tool_reaches_the_gateway(name: str) -> None:
    asked = []

    def call(tool: str, arguments: object, cites: object) -> ToolResult:
        asked.append(tool)
        return ToolResult(True)

    with listening(call) as (listener, _):
        Client(listener.url).call(name, {"a": 1})
    assert asked == [name]


def test_whoever_does_not_know_the_path_is_told_nothing() -> None:
    with listening() as (one, lost_one), listening() as (other, _):
        client = Client(one.url)
        for path in ("/", "/mcp", f"/{other.token}", f"/{one.token}/", f"/{one.token[:-1]}"):
            assert client.send(b"{}", path=path) == (404, b"nothing is here")
        assert lost_one.lost == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "attacker.example"},
        {"Host": "attacker.example:80"},
        {"Host": ""},
        {"Origin": "http://attacker.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1.attacker.example"},
    ],
)
def test_a_page_in_a_browser_is_refused(headers: dict[str, str]) -> None:
    with listening() as (listener, server):
        assert Client(listener.url).send(b"{}", headers)[0] == 403
        assert server.lost == []


def test_this_machine_is_served_under_its_names() -> None:
    with listening() as (listener, _):
        for name in ("localhost", "127.0.0.1"):
            client = Client(listener.url)
            host = f"{name}:{listener.port}"
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
            assert client.send(body, {"Host": host, "Origin": f"http://{host}"})[0] == 200


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_there_is_no_stream_and_no_session(method: str) -> None:
    with listening() as (listener, server):
        assert Client(listener.url).send(b"", method=method)[0] == 405
        assert server.lost == []


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        (b'{"jsonrpc"', -32700, "no JSON"),
        (b'{"id": 1, "method": "\xff"}', -32700, "no UTF-8 at byte 21"),
        (b"[" * 100_000, -32700, "no JSON"),
        (b"[]", -32600, "one message at a time"),
        (b"7", -32600, "one message at a time"),
        (b'{"id": 1}', -32600, "no method"),
        (b'{"id": [1], "method": "ping"}', -32600, "neither a text nor a whole number"),
        (b'{"method": "tools/call", "params": {"name": "a"}}', -32600, "has no id"),
    ],
)
def test_a_message_that_cannot_be_read_is_answered_and_noted(body: bytes, code: int, said: str) -> None:
    with listening() as (listener, server):
        status, answer = Client(listener.url).send(body)
        assert (status, json.loads(answer)["error"]["code"]) == (200, code)
        assert len(server.lost) == 1
        assert said in server.lost[0]


def test_a_message_that_is_too_large_is_refused_unread() -> None:
    with listening() as (listener, server), socket.create_connection(("127.0.0.1", listener.port)) as own:
        own.sendall(f"{head(listener)}Content-Length: {MOST_BYTES + 1}\r\n\r\n".encode())
        assert own.recv(100).startswith(b"HTTP/1.1 413")
        assert server.lost == [f"a message of {MOST_BYTES + 1} bytes, at most {MOST_BYTES}"]


@pytest.mark.parametrize(
    ("fields", "status", "lost"),
    [
        ("Content-Type: text/plain\r\nContent-Length: 2\r\n", b"415", 1),
        ("Content-Type: application/json\r\n", b"411", 1),
        ("Content-Type: application/json\r\nContent-Length: -1\r\n", b"411", 1),
        ("Content-Type: application/json\r\nContent-Length: " + "9" * 5000 + "\r\n", b"411", 1),
        ("Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n", b"411", 1),
        ("X: y\r\n" * 200, b"431", 1),
    ],
)
def test_a_request_without_a_readable_message_is_refused(fields: str, status: bytes, lost: int) -> None:
    with listening() as (listener, server), socket.create_connection(("127.0.0.1", listener.port)) as own:
        start = f"POST /{listener.token} HTTP/1.1\r\nHost: localhost:{listener.port}\r\n"
        own.sendall(f"{start}{fields}\r\n".encode())
        assert own.recv(100).split()[1] == status
        assert len(server.lost) == lost


def test_what_is_no_http_ends_its_connection_and_costs_nothing() -> None:
    with listening() as (listener, server):
        for noise in (b"\x16\x03\x01\x02\x00\x01" * 50, b"\r\n\r\n", b"", b"NONSENSE / X\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", listener.port)) as own:
                own.sendall(noise)
                own.shutdown(socket.SHUT_WR)
                own.recv(1000)
        assert server.lost == []
        assert Client(listener.url).rpc("ping")["result"] == {}


def test_a_message_that_breaks_off_is_noted() -> None:
    with listening() as (listener, server):
        with socket.create_connection(("127.0.0.1", listener.port)) as own:
            own.sendall(f'{head(listener)}Content-Length: 50\r\n\r\n{{"jsonrpc'.encode())
        listener.drain(5)
        assert server.lost == ["a message broke off at byte 9 of 50"]


def test_calls_in_parallel_are_all_served() -> None:
    busy, most = [0], [0]
    guard = threading.Lock()

    def call(tool: str, arguments: dict[str, int], cites: object) -> ToolResult:
        with guard:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        time.sleep(0.01)
        with guard:
            busy[0] -= 1
        return ToolResult(True, arguments["n"])

    answers: list[int] = []
    with listening(call) as (listener, _):
        work = [
            threading.Thread(target=lambda n=n: answers.append(Client(listener.url).call("a", {"n": n})["data"]))
            for n in range(20)
        ]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
    assert sorted(answers) == list(range(20))
    assert most[0] > 1  # the listener itself holds nobody up; the trial serves one after the other


def test_more_connections_than_an_agent_needs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener_module, "MOST_CONNECTIONS", 3)
    with listening() as (listener, server):
        held = [socket.create_connection(("127.0.0.1", listener.port)) for _ in range(5)]
        assert held[-1].recv(10) == b""
        for one in held:
            one.close()
        assert "a connection was refused: 3 others were open" in server.lost
    assert MOST_CONNECTIONS == 128


def test_what_was_sent_before_the_client_ended_is_served_before_the_trial_ends() -> None:
    asked = []

    def call(tool: str, arguments: object, cites: object) -> ToolResult:
        time.sleep(0.05)
        asked.append(tool)
        return ToolResult(True)

    with listening(call) as (listener, _):
        body = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}}'
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", listener.port)) as own:
                own.sendall(f"{head(listener)}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        listener.drain(10)
        assert asked == ["a"] * 3


def test_an_answer_that_nobody_reads_holds_nothing_up() -> None:
    large = ToolResult(True, "x" * 20_000_000)
    with listening(lambda *_: large) as (listener, _), socket.create_connection(("127.0.0.1", listener.port)) as own:
        body = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}}'
        own.sendall(f"{head(listener)}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        time.sleep(0.2)
        started = time.monotonic()
        listener.close()
        assert time.monotonic() - started < 3


def test_after_the_trial_nothing_is_served_and_nothing_listens() -> None:
    def over(*_: object) -> ToolResult:
        raise TrialOver("the trial has ended")

    with listening(over) as (listener, _):
        client = Client(listener.url)
        assert client.rpc("tools/call", {"name": "a"})["error"] == {"code": -32000, "message": "the trial has ended"}
    with pytest.raises(ConnectionError):
        socket.create_connection(("127.0.0.1", listener.port)).close()


def test_no_thread_outlives_a_listener() -> None:
    before = set(threading.enumerate())
    with listening() as (listener, _):
        idle = [socket.create_connection(("127.0.0.1", listener.port)) for _ in range(10)]
        Client(listener.url).rpc("ping")
    assert set(threading.enumerate()) - before == set()
    for one in idle:
        one.close()


def test_addresses_are_short_and_differ() -> None:
    with listening() as (one, _), listening() as (other, _):
        assert one.token != other.token
        assert len(one.url) <= len("http://127.0.0.1:65535/") + 12


def test_a_listener_stands_in_no_time() -> None:
    started = time.perf_counter()
    for _ in range(20):
        Listener(lambda _: None, lambda _: None).close()
    assert (time.perf_counter() - started) / 20 < 0.06
