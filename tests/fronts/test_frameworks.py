"""The examples, each in an environment of its own, against a model of a few lines that speaks chat completions."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from core.support import CONTROL, Bench, of_type
from pytest_soclab.evidence.results import Verdict
from pytest_soclab.fronts.outside import CommandAgent

from .environments import python_with

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "frameworks"
FRAMEWORKS = {
    "pydantic_ai_agent.py": ("pydantic-ai-slim[openai,mcp]",),
    "langgraph_agent.py": ("langgraph", "langchain", "langchain-mcp-adapters", "langchain-openai"),
    "openai_agents_agent.py": ("openai-agents",),
}


def next_message(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the model says next: read, read, act on what was found, publish, end."""
    results = [content(m) for m in messages if m["role"] == "tool"]
    steps: list[tuple[str, dict[str, Any]]] = [
        ("siem_search", {"query": "user:alex.rivera source:helpdesk"}),
        ("siem_search", {"query": "user:alex.rivera"}),
        ("identity_disable_account", {"user": "alex.rivera", "reason": "account taken over"}),
        ("cases_publish_finding", {"case": "identity-compromise", "summary": "taken over", "verdict": "true_positive"}),
    ]
    if len(results) >= len(steps):
        return {"role": "assistant", "content": "done"}
    name, arguments = steps[len(results)]
    if name == "identity_disable_account":
        arguments = {**arguments, "cites": [json.loads(results[1])["evidence"]]}
    call = {"name": name, "arguments": json.dumps(arguments)}
    calls = [{"id": f"call_{len(results)}", "type": "function", "function": call}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def content(message: dict[str, Any]) -> str:
    given = message["content"]
    return given if isinstance(given, str) else "".join(part["text"] for part in given)


@contextmanager
def model() -> Iterator[str]:
    """Serve the scripted model and give its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = next_message(asked["messages"])
            choice = {"index": 0, "message": said, "finish_reason": "tool_calls" if "tool_calls" in said else "stop"}
            usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
            answer = {"id": "c", "object": "chat.completion", "created": 1, "model": asked["model"]}
            body = json.dumps({**answer, "choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_an_example_works_on_a_case_unchanged(bench: Bench, name: str) -> None:
    with model() as address:
        known = {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": "sk-none-0123456789", "MODEL": "openai-chat:gpt-4o-mini"}
        if name != "pydantic_ai_agent.py":
            known["MODEL"] = "openai:gpt-4o-mini"
        agent = CommandAgent((str(python_with(*FRAMEWORKS[name])), str(EXAMPLES / name)), name, known)
        outcome = bench.run(bench.unit(CONTROL), agent, timeout=180)
    (annex,) = of_type(outcome.events, "annex")
    assert outcome.judgement.verdict is Verdict.SERVED, (outcome.cause, annex["stderr"]["end"][-3000:])
    assert [p["tool"] for p in of_type(outcome.events, "proposal")][-1] == "cases.publish_finding"
    assert annex["note"] == "done"
