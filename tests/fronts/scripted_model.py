"""A model that is a script, on loopback: it answers as OpenAI (chat completions), Anthropic and Gemini do, streams too.

Run as a program it prints its address and serves the plan of one investigation until it is ended. What it says next
depends on nothing but the results that a request shows it.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DONE = "done"


@dataclass(frozen=True)
class Step:
    """One tool call that the model asks for."""

    name: str
    arguments: dict[str, Any]


Plan = Callable[[Sequence[str]], Step | None]
"""Returns the next call for the results shown so far, None when the work is done."""


def investigation(results: Sequence[str]) -> Step | None:
    """Read, read, act on what was found, publish, end."""
    steps = [
        Step("siem_search", {"query": "user:alex.rivera source:helpdesk"}),
        Step("siem_search", {"query": "user:alex.rivera"}),
        Step("identity_disable_account", {"user": "alex.rivera", "reason": "account taken over"}),
        Step(
            "cases_publish_finding",
            {"case": "identity-compromise", "summary": "taken over", "verdict": "true_positive"},
        ),
    ]
    if len(results) >= len(steps):
        return None
    step = steps[len(results)]
    if step.name != "identity_disable_account":
        return step
    return Step(step.name, {**step.arguments, "cites": [_evidence(results[1])]})


def _evidence(result: str) -> str:
    """Return the evidence id in a result, however deep a client wrapped its text."""
    found = re.search(r'"evidence": ?"(ev_\w+)"', result.replace("\\", ""))
    return found[1] if found else "none"


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(_text(part) for part in content)
    if isinstance(content, dict):
        return str(content["text"]) if isinstance(content.get("text"), str) else json.dumps(content)
    return ""


class OpenAI:
    """Chat completions."""

    @staticmethod
    def results(asked: dict[str, Any]) -> list[str]:
        return [_text(message["content"]) for message in asked["messages"] if message["role"] == "tool"]

    @staticmethod
    def answer(asked: dict[str, Any], step: Step | None, number: int) -> dict[str, Any]:
        said: dict[str, Any] = {"role": "assistant", "content": DONE}
        if step is not None:
            function = {"name": step.name, "arguments": json.dumps(step.arguments)}
            call = {"id": f"call_{number}", "type": "function", "function": function}
            said = {**said, "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": said, "finish_reason": "stop" if step is None else "tool_calls"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        whole = {"id": "c", "object": "chat.completion", "created": 1, "model": asked.get("model", "m")}
        return {**whole, "choices": [choice], "usage": usage}

    @staticmethod
    def stream(answer: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        (choice,) = answer["choices"]
        delta = dict(choice["message"])
        if "tool_calls" in delta:
            delta["tool_calls"] = [{"index": i, **call} for i, call in enumerate(delta["tool_calls"])]
        part = {**answer, "object": "chat.completion.chunk"}
        yield "", {**part, "choices": [{"index": 0, "delta": delta, "finish_reason": None}], "usage": None}
        yield "", {**part, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}


class Anthropic:
    """Messages; the tools of an MCP server may have a prefix there."""

    @staticmethod
    def results(asked: dict[str, Any]) -> list[str]:
        parts = [p for m in asked["messages"] if isinstance(m["content"], list) for p in m["content"]]
        return [_text(part.get("content")) for part in parts if part["type"] == "tool_result"]

    @staticmethod
    def answer(asked: dict[str, Any], step: Step | None, number: int) -> dict[str, Any]:
        names = [tool.get("name", "") for tool in asked.get("tools", ())]
        content: dict[str, Any] = {"type": "text", "text": DONE}
        if step is not None and (name := next((n for n in names if n.endswith(step.name)), "")):
            content = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": step.arguments}
        reason = "tool_use" if content["type"] == "tool_use" else "end_turn"
        usage = {"input_tokens": 10, "output_tokens": 5}
        whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked.get("model", "m")}
        return {**whole, "content": [content], "stop_reason": reason, "stop_sequence": None, "usage": usage}

    @staticmethod
    def stream(answer: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        (content,) = answer["content"]
        empty = {**content, "input": {}} if content["type"] == "tool_use" else {**content, "text": ""}
        delta: dict[str, Any] = {"type": "text_delta", "text": content.get("text")}
        if content["type"] == "tool_use":
            delta = {"type": "input_json_delta", "partial_json": json.dumps(content["input"])}
        begun = {**answer, "content": [], "stop_reason": None}
        ended = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
        for event in (
            {"type": "message_start", "message": begun},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 5}},
            {"type": "message_stop"},
        ):
            yield str(event["type"]), event


class Gemini:
    """Generated content."""

    @staticmethod
    def results(asked: dict[str, Any]) -> list[str]:
        parts = [part for content in asked["contents"] for part in content.get("parts", ())]
        return [json.dumps(part["functionResponse"]["response"]) for part in parts if "functionResponse" in part]

    @staticmethod
    def answer(asked: dict[str, Any], step: Step | None, number: int) -> dict[str, Any]:
        call = {"functionCall": {"name": step.name, "args": step.arguments}} if step else {"text": DONE}
        candidate = {"content": {"role": "model", "parts": [call]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m"}

    @staticmethod
    def stream(answer: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        yield "", answer


Speaks = type[OpenAI] | type[Anthropic] | type[Gemini]


def _language(path: str) -> Speaks:
    return Gemini if "enerateContent" in path else Anthropic if path.endswith("/messages") else OpenAI


def events(parts: Iterator[tuple[str, Any]]) -> bytes:
    """Return a stream of server-sent events."""
    lines = ((f"event: {kind}\n" if kind else "") + f"data: {json.dumps(data)}\n\n" for kind, data in parts)
    return "".join(lines).encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    plan: Plan

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        if path.endswith("count_tokens"):
            self._send("application/json", b'{"input_tokens": 10}')
            return
        speaks = _language(path)
        results = speaks.results(asked)
        answer = speaks.answer(asked, type(self).plan(results), len(results))
        if asked.get("stream") or "streamGenerateContent" in path:
            ends = b"data: [DONE]\n\n" if speaks is OpenAI else b""
            self._send("text/event-stream", events(speaks.stream(answer)) + ends)
        else:
            self._send("application/json", json.dumps(answer).encode())

    def _send(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def model(plan: Plan = investigation) -> Iterator[str]:
    """Serve a plan and give the address, without `/v1`."""
    handler = type("Handler", (_Handler,), {"plan": staticmethod(plan)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


if __name__ == "__main__":
    with model() as address:
        print(address, flush=True)
        sys.stdin.read()
