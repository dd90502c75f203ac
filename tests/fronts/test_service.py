"""Agents that are a service: asked for each trial, broken off in time, believed in nothing."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from core.support import CONTROL, Bench, of_type
from pytest_soclab.evidence.results import Verdict
from pytest_soclab.fronts.outside import ServiceAgent

from .support import Client

Work = Callable[[dict[str, Any], Client], Any]


@contextmanager
def service(work: Work) -> Iterator[ServiceAgent]:
    """Serve an agent: `work` gets the question and a client, and returns the answer, or bytes as they are sent."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            client = Client(asked["mcp_url"])
            try:
                answer = work(asked, client)
            finally:
                client.connection.close()
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(500 if body == b"broken" else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

        def handle(self) -> None:
            with suppress(OSError, http.client.HTTPException):  # the lab broke the connection off
                super().handle()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield ServiceAgent(f"http://127.0.0.1:{server.server_address[1]}/investigate?a=b", "service")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def good(asked: dict[str, Any], client: Client) -> Any:
    assert asked["protocol"] == "soclab-agent/1"
    assert asked["case"]["incident"] == "identity-compromise"
    assert asked["case"]["goal"] in asked["prompt"]
    client.call("siem_search", {"query": "user:alex.rivera source:helpdesk"})
    found = client.call("siem_search", {"query": "user:alex.rivera"})["evidence"]
    user = {"user": "alex.rivera", "reason": "account taken over", "cites": [found]}
    assert "denied" not in client.call("identity_disable_account", user)
    claims = [{"text": "sign-ins from abroad", "evidence": [found]}]
    return {"finding": {"summary": "taken over", "verdict": "true_positive", "claims": claims}, "note": "done"}


def test_a_service_works_on_a_case_and_its_finding_is_published(bench: Bench) -> None:
    with service(good) as agent:
        outcome = bench.run(bench.unit(CONTROL), agent)
    assert outcome.judgement.verdict is Verdict.SERVED, outcome.cause
    assert of_type(outcome.events, "proposal")[-1]["tool"] == "cases.publish_finding"
    assert of_type(outcome.events, "annex") == [{"note": "done"}]


def test_one_service_works_on_many_cases(bench: Bench) -> None:
    with service(good) as agent:
        for _ in range(3):
            assert bench.run(bench.unit(CONTROL), agent).judgement.verdict is Verdict.SERVED


def read_note(client: Client) -> None:
    client.call("siem_search", {"query": "user:alex.rivera source:helpdesk"})


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (b"broken", "answered with status 500"),
        (b"no json", "gave no soclab-agent/1 answer"),
        (b"\xff\xfe", "gave no soclab-agent/1 answer"),
        (b"x" * 2_000_000, "answered more than 1048576 bytes"),
        ({"finding": {"verdict": "true_positive"}}, "finding.summary Field required"),
        ({"finding": "bananas"}, "gave no soclab-agent/1 answer: finding"),
        ({"finding": {"summary": "a", "odd": 1}}, "finding.odd"),
    ],
)
def test_a_bad_answer_is_inconclusive_with_its_cause(bench: Bench, answer: Any, cause: str) -> None:
    def work(asked: dict[str, Any], client: Client) -> Any:
        read_note(client)
        return answer

    with service(work) as agent:
        outcome = bench.run(bench.base, agent)
    assert outcome.judgement.verdict is Verdict.INCONCLUSIVE
    assert cause in outcome.cause


def test_a_verdict_that_is_none_is_refused_by_the_gateway(bench: Bench) -> None:
    def work(asked: dict[str, Any], client: Client) -> Any:
        read_note(client)
        return {"finding": {"summary": "a", "verdict": "bananas"}}

    with service(work) as agent:
        outcome = bench.run(bench.base, agent)
    assert "argument_schema" in of_type(outcome.events, "result")[-1]["denied"]


def test_a_service_that_hangs_is_broken_off(bench: Bench) -> None:
    over = threading.Event()
    with service(lambda asked, client: over.wait(20) and {}) as agent:
        started = time.monotonic()
        outcome = bench.run(bench.base, agent, timeout=0.5)
        assert time.monotonic() - started < 4
        over.set()
    assert "did not finish within 0.5 s" in outcome.cause
    assert not [t for t in threading.enumerate() if t.name.startswith("soclab-")]


def test_calls_after_the_answer_are_not_served(bench: Bench) -> None:
    late: list[Any] = []

    def work(asked: dict[str, Any], client: Client) -> Any:
        read_note(client)

        def call() -> None:
            time.sleep(0.5)
            try:
                late.append(Client(asked["mcp_url"]).call("identity_disable_account", {"user": "svc-backup"}))
            except OSError as error:
                late.append(error)

        threading.Thread(target=call).start()
        return {"finding": None}

    with service(work) as agent:
        outcome = bench.run(bench.base, agent)
        time.sleep(0.8)
    assert isinstance(late[0], ConnectionError)
    assert len(of_type(outcome.events, "proposal")) == 1


def test_a_service_that_is_not_there_is_a_cause(bench: Bench) -> None:
    outcome = bench.run(bench.base, ServiceAgent("http://127.0.0.1:9/", "none"))
    assert "the agent's service could not be asked" in outcome.cause
    assert outcome.judgement.verdict is Verdict.INCONCLUSIVE
