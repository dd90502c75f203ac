"""An HTTP listener on loopback for one trial: one path, which is a secret, and one answer to each POST.

Streamable HTTP of the Model Context Protocol without its streams: every answer is one JSON document. Nothing is served
to a page in a browser (Host and Origin), to whoever does not know the path, or beyond the trial.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any

from pytest_soclab.base.clock import monotonic, trial_token


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to one message, None where it wants none; `refused` has HTTP say so as well, with status 400."""

    message: dict[str, Any] | None
    refused: bool = False


Answer = Callable[[bytes, str | None], Reply]
"""Answers one message: the body, and the revision of the protocol that the request's header names."""
Lose = Callable[[str], None]

LOOPBACK = "127.0.0.1"
MOST_BYTES = 1_048_576
"""A larger message is refused unread; the arguments of a call may have 65,536 characters."""
MOST_CONNECTIONS = 128
_BACKLOG = 128
_MOST_DIGITS = 12
_NAMES = (LOOPBACK, "localhost")


class _Refused(Exception):  # noqa: N818 - the request, not the program
    def __init__(self, status: HTTPStatus, why: str, lost: bool = False) -> None:
        super().__init__(why)
        self.status = status
        self.lost = lost


class Listener:
    """Listens from the moment it is made until `close`; `answer` is called by one thread for each connection."""

    def __init__(self, answer: Answer, lose: Lose) -> None:
        self.answer, self.lose = answer, lose
        self.token = trial_token()
        self._socket = socket.create_server((LOOPBACK, 0), backlog=_BACKLOG)
        self.port: int = self._socket.getsockname()[1]
        self._connections: dict[socket.socket, threading.Thread] = {}
        self._changed = threading.Condition()
        self._knocks: set[Any] = set()
        """Addresses of connections of our own."""
        self._closing = False
        self._thread = threading.Thread(target=self._accept, name="soclab-mcp", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address that an agent is given: short, for some clients build names from it."""
        return f"http://{LOOPBACK}:{self.port}/{self.token}"

    def _accept(self) -> None:
        while True:
            try:
                request, address = self._socket.accept()
            except OSError:  # out of file handles, for instance; the client sees a broken connection
                if self._closing:
                    return
                continue
            if self._answers_knock(request, address):
                if self._closing:
                    return
                continue
            self._begin(request, address)

    def _answers_knock(self, request: socket.socket, address: Any) -> bool:
        with self._changed:
            ours = address in self._knocks
            self._knocks.discard(address)
            self._changed.notify_all()
        if ours:
            request.close()
        return ours

    def _begin(self, request: socket.socket, address: Any) -> None:
        """Serve a connection in a thread of its own."""
        work = threading.Thread(target=self._serve, args=(request, address), name="soclab-mcp-client", daemon=True)
        with self._changed:
            full = len(self._connections) >= MOST_CONNECTIONS
            if not full:
                self._connections[request] = work
        if full:
            self.lose(f"a connection was refused: {MOST_CONNECTIONS} others were open")
            request.close()
        else:
            work.start()

    def _serve(self, request: socket.socket, address: Any) -> None:
        try:
            _Handler(request, address, self)  # type: ignore[arg-type]  # the base class only keeps it as `server`
        except (OSError, ValueError):
            pass  # the client is gone, or the trial is over
        finally:
            with self._changed:
                self._connections.pop(request, None)
                self._changed.notify_all()
            request.close()

    def _knock(self) -> Any:
        """Connect to the listener itself, so that its thread goes through all that came before."""
        with socket.socket() as own:
            own.bind((LOOPBACK, 0))
            address = own.getsockname()
            with self._changed:
                self._knocks.add(address)
            own.settimeout(1.0)
            try:
                own.connect((LOOPBACK, self.port))
            except OSError:  # the queue is full of connections, which the caller waits for anyway
                with self._changed:
                    self._knocks.discard(address)
        return address

    def drain(self, seconds: float) -> None:
        """Serve what clients that have ended sent before: wait until the last of their connections is done."""
        until = monotonic() + seconds
        knock = self._knock()
        with self._changed:
            while (knock in self._knocks or self._connections) and (left := until - monotonic()) > 0:
                self._changed.wait(left)

    def close(self) -> None:
        """Stop listening and end every connection, whatever their clients do."""
        self._closing = True
        self._knock()
        self._thread.join(1.0)
        self._socket.close()
        with self._changed:
            open_ones = list(self._connections.items())
        for request, _ in open_ones:
            with contextlib.suppress(OSError):  # it ended by itself
                request.shutdown(socket.SHUT_RDWR)
        for _, thread in open_ones:
            thread.join(1.0)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each answer waits for the client's acknowledgement of the head
    wbufsize = -1
    server: Listener  # type: ignore[assignment]  # the base class only hands it on

    def do_POST(self) -> None:
        """Answer one message."""
        try:
            body = self._body()
        except _Refused as refused:
            self._refuse(refused)
            return
        reply = self.server.answer(body, self.headers.get("MCP-Protocol-Version"))
        if reply.message is None:
            self._send(HTTPStatus.ACCEPTED, b"")
        else:
            self._send(HTTPStatus.BAD_REQUEST if reply.refused else HTTPStatus.OK, json.dumps(reply.message).encode())

    def do_GET(self) -> None:
        """Refuse: there is no stream to listen to, and no session to end."""
        try:
            self._check_caller()
        except _Refused as refused:
            self._refuse(refused)
        else:
            self._refuse(_Refused(HTTPStatus.METHOD_NOT_ALLOWED, "send messages with POST"))

    def do_DELETE(self) -> None:
        """Refuse likewise."""
        self.do_GET()

    def _body(self) -> bytes:
        self._check_caller()
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send application/json", lost=True)
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit() and len(length) <= _MOST_DIGITS):
            raise _Refused(HTTPStatus.LENGTH_REQUIRED, "send a Content-Length", lost=True)
        if int(length) > MOST_BYTES:
            why = f"a message of {int(length)} bytes, at most {MOST_BYTES}"
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, why, lost=True)
        return self._whole(int(length))

    def _whole(self, length: int) -> bytes:
        body = self.rfile.read(length)
        if len(body) < length:
            raise _Refused(HTTPStatus.BAD_REQUEST, f"a message broke off at byte {len(body)} of {length}", lost=True)
        return body

    def _check_caller(self) -> None:
        """Refuse whoever is no client that was given the address."""
        hosts = {f"{name}:{self.server.port}" for name in _NAMES}
        if self.headers.get("Host", "").lower() not in hosts:
            raise _Refused(HTTPStatus.FORBIDDEN, "the Host header names another place")
        origin = self.headers.get("Origin")
        if origin is not None and origin.lower() not in {f"http://{host}" for host in hosts}:
            raise _Refused(HTTPStatus.FORBIDDEN, "the Origin header names another place")
        if not hmac.compare_digest(self.path.encode(), f"/{self.server.token}".encode()):
            raise _Refused(HTTPStatus.NOT_FOUND, "nothing is here")

    def _refuse(self, refused: _Refused) -> None:
        if refused.lost:
            self.server.lose(str(refused))
        self.close_connection = True  # what follows may be the rest of a message that was not read
        self._send(refused.status, str(refused).encode(), "text/plain; charset=utf-8")

    def _send(self, status: HTTPStatus, body: bytes, kind: str = "application/json") -> None:
        self.send_response_only(status)
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "POST")
        if body:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Refuse what is no request that HTTP knows; the base class would answer with a page."""
        ours = getattr(self, "path", "") == f"/{self.server.token}"  # a stranger on this machine costs no trial
        self._refuse(_Refused(HTTPStatus(code), message or HTTPStatus(code).phrase, lost=ours))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Say nothing: the path is a secret."""
