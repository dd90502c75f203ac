"""A proxy between an agent and its model: it counts, limits, records and replays, and sees what the model was shown.

It never decides on anything the agent does: a proxy that an agent goes around protects nobody. Requests of OpenAI (chat
completions, responses), Anthropic (messages) and Gemini pass as they are, streams as they come.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from pytest_soclab.base.clock import trial_token
from pytest_soclab.fronts.listener import LOOPBACK
from pytest_soclab.fronts.masking import Mask
from pytest_soclab.fronts.recording import Answer, Recording
from pytest_soclab.fronts.spending import BYTES_PER_TOKEN, Spending, Usage, usage_of

UPSTREAM = {
    "openai": "https://api.openai.com",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
}
_PATHS = (
    ("openai", re.compile(r"/(v1/)?(chat/completions|responses|models)(/.*)?")),
    ("anthropic", re.compile(r"/v1/messages(/.*)?")),
    ("gemini", re.compile(r"/v1(beta|alpha)?/models/.*:\w+")),
)
_OWN_HEADERS = {"host", "content-length", "connection", "accept-encoding", "transfer-encoding", "keep-alive"}
MOST_ASKED = 32 * 1_048_576
MOST_IN_FLIGHT = 128 * 1_048_576
"""Bytes of all requests of a trial that are on their way at once."""
_KEPT = 16 * 1_048_576  # bytes of an answer that are kept for counting and recording
_PIECE = 16_384
_UPSTREAM_SECONDS = 600.0


@dataclass(slots=True)
class Exchange:
    """What one trial asked of its model so far."""

    spent: Sequence[Spending]
    recording: Recording
    payload: Sequence[str]
    replays: bool
    requests: int = 0
    seen: set[str] = field(default_factory=set)
    guessed: int = 0

    def look(self, body: str) -> None:
        """Note which payload texts a request shows the model."""
        self.requests += 1
        for text in self.payload:
            if text not in self.seen and any(form in body for form in _forms(text)):
                self.seen.add(text)

    def over(self) -> str:
        """Return why nothing more may be asked, or an empty text."""
        return next((why for spending in self.spent if (why := spending.over())), "")

    def count(self, usage: Usage, model: str) -> None:
        """Count one answer on every account."""
        self.guessed += not usage.told
        for spending in self.spent:
            spending.add(usage, model)


def _forms(text: str) -> set[str]:
    """Return a text as it stands in JSON, and in JSON within a text of JSON."""
    once = {json.dumps(text, ensure_ascii=ascii_)[1:-1] for ascii_ in (True, False)}
    return once | {json.dumps(form, ensure_ascii=ascii_)[1:-1] for form in once for ascii_ in (True, False)}


class ModelProxy:
    """Listens from the moment it is made until `close`; `end` ends the trial with a cause."""

    def __init__(self, upstream: str | None, exchange: Exchange, mask: Mask, end: Callable[[str], None]) -> None:
        self.upstream, self.exchange, self.mask, self.end = upstream, exchange, mask, end
        self.token = trial_token()
        self._in_flight, self._lock = 0, threading.Lock()
        self.upstreams: set[http.client.HTTPConnection] = set()
        self._server = _Server((LOOPBACK, 0), _Handler)
        self._server.proxy = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.name = "soclab-model"
        self._thread.start()

    @property
    def url(self) -> str:
        """The address to use in the provider's place, without `/v1`."""
        return f"http://{LOOPBACK}:{self._server.server_address[1]}/{self.token}"

    def admits(self, size: int) -> bool:
        """Tell whether there is room for a request of this size and take it; a negative size gives it back."""
        with self._lock:
            if self._in_flight + size > MOST_IN_FLIGHT:
                return False
            self._in_flight += size
            return True

    def variables(self) -> dict[str, str]:
        """Return the variables in which clients look for the address."""
        return {
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENAI_API_BASE": f"{self.url}/v1",
            "ANTHROPIC_BASE_URL": self.url,
            "GOOGLE_GEMINI_BASE_URL": self.url,
            "SOCLAB_MODEL_URL": self.url,
        }

    def close(self) -> None:
        """Stop listening; what is still on its way is broken off with its client."""
        self._server.shutdown()
        self._server.server_close()
        for connection in list(self.upstreams):
            if (held := connection.sock) is not None:
                with contextlib.suppress(OSError):  # it ended by itself
                    held.shutdown(socket.SHUT_RDWR)
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    proxy: ModelProxy

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that ended is no error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        """Answer one request to a model."""
        self._pass("POST")

    def do_GET(self) -> None:
        """Answer a question about models."""
        self._pass("GET")

    def _pass(self, method: str) -> None:
        proxy = self.server.proxy
        self.close_connection = True
        head, _, rest = self.path[1:].partition("/")
        path = f"/{rest}"
        provider = next((name for name, form in _PATHS if form.fullmatch(path.partition("?")[0])), None)
        length = self.headers.get("Content-Length") or "0"
        if head != proxy.token or provider is None:
            self._refuse(404, "nothing is here")
        elif not (length.isascii() and length.isdigit() and len(length) < 12 and int(length) <= MOST_ASKED):
            self._refuse(413, f"a request has at most {MOST_ASKED} bytes and says how many")
        elif not proxy.admits(int(length)):
            self._stop(f"the agent asked its model with more than {MOST_IN_FLIGHT // 1_048_576} MiB at once")
        else:
            try:
                self._answer(method, provider, path, self.rfile.read(int(length)))
            finally:
                proxy.admits(-int(length))

    def _answer(self, method: str, provider: str, path: str, body: bytes) -> None:
        proxy, exchange = self.server.proxy, self.server.proxy.exchange
        if method == "GET" and not exchange.replays:
            self._forward(method, provider, path, body)
            return
        text = proxy.mask.text(body.decode("utf-8", "replace"))
        exchange.look(body.decode("utf-8", "replace"))
        if why := exchange.over():
            self._stop(why)
        elif exchange.replays:
            self._replay(path, text)
        else:
            answer = self._forward(method, provider, path, body)
            if answer is not None:
                self._take_in(path, text, body, answer)

    def _take_in(self, path: str, text: str, body: bytes, answer: Answer) -> None:
        proxy, exchange = self.server.proxy, self.server.proxy.exchange
        if answer.status < 400:
            exchange.count(usage_of(answer.body, len(body)), model_of(path, body))
        told = proxy.mask.text(answer.body.decode("utf-8", "replace")).encode()
        full = exchange.recording.add(path, text, Answer(answer.status, answer.kind, told))
        if why := full or exchange.over():
            proxy.end(why)

    def _replay(self, path: str, text: str) -> None:
        recording = self.server.proxy.exchange.recording
        answer = recording.find(path, text)
        if answer is None:
            self._stop(f"the trial left the recording at {recording.left_at(text)}")
            return
        self.send_response_only(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def _stop(self, why: str) -> None:
        """End the trial, and refuse in the one way that clients do not try again."""
        self.server.proxy.end(why)
        self._refuse(402, why)

    def _refuse(self, status: int, why: str) -> None:
        body = json.dumps({"error": {"message": why, "type": "soclab", "code": "stopped"}}).encode()
        self.send_response_only(status)
        for name, value in (("Content-Type", "application/json"), ("x-should-retry", "false")):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _forward(self, method: str, provider: str, path: str, body: bytes) -> Answer | None:
        """Pass a request on and its answer back; None where the provider could not be reached."""
        parts = urlsplit(self.server.proxy.upstream or UPSTREAM[provider])
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=_UPSTREAM_SECONDS)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _OWN_HEADERS}
        upstreams = self.server.proxy.upstreams
        upstreams.add(connection)
        try:
            connection.request(method, parts.path.rstrip("/") + path, body or None, headers)
            response = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            upstreams.discard(connection)
            self._refuse(502, f"the model's provider cannot be reached: {type(error).__name__}")
            return None
        try:
            return self._stream(response, len(body))
        finally:
            upstreams.discard(connection)
            connection.close()

    def _stream(self, response: http.client.HTTPResponse, asked: int) -> Answer:
        content = response.headers.get("Content-Type", "application/json")
        self.send_response_only(response.status)
        for name, value in _passed_back(response.headers):
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        kept, size = bytearray(), 0
        while piece := response.read1(_PIECE):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.flush()
            kept += piece[: max(0, _KEPT - len(kept))]
            size += len(piece)
            if self._too_much(asked + size):
                break
        self.wfile.write(b"0\r\n\r\n")
        return Answer(response.status, content, bytes(kept))

    def _too_much(self, size: int) -> bool:
        """Tell whether an answer that still comes is beyond every count of the trial's tokens by its size alone."""
        for spending in self.server.proxy.exchange.spent:
            most = spending.limits.tokens
            if most is not None and spending.tokens + size // (BYTES_PER_TOKEN * _WORDY) > most:
                return True
        return False

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Say nothing: addresses and keys are secrets."""


_WORDY = 40
"""A stream of events has so many times the bytes of its tokens, about."""


def _passed_back(headers: Message) -> Iterator[tuple[str, str]]:
    skip = _OWN_HEADERS | {"set-cookie", "date", "server"}
    return ((name, value) for name, value in headers.items() if name.lower() not in skip)


def model_of(path: str, body: bytes) -> str:
    """Return the model that a request names, in its body or (Gemini) in its path."""
    found = re.search(r"/models/([^:/]+):", path)
    if found:
        return found[1]
    try:
        named = json.loads(body)["model"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return "an unnamed model"
    return named if isinstance(named, str) else "an unnamed model"
