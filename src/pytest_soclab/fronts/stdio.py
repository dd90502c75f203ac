"""Carries MCP messages between standard input and output and a trial's listener, for clients that start their server.

Run as a file by any Python: `python stdio.py URL`, or with the address in SOCLAB_MCP_URL. It imports nothing of ours.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
from typing import Any, BinaryIO
from urllib.parse import urlsplit


class Shim:
    """Sends one message after the other over one connection."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.path = parts.path
        self.connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80)

    def carry(self, line: bytes) -> bytes:
        """Return the answer to a line, empty where there is none."""
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        try:
            self.connection.request("POST", self.path, line, headers)
            response = self.connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            return failed(line, f"the trial cannot be reached: {error}")
        if response.status >= 400:
            return failed(line, body.decode("utf-8", "replace"))
        return body


def failed(line: bytes, why: str) -> bytes:
    """Return the error that answers a line, empty where the line is no request."""
    number = number_of(line)
    if number is None:
        return b""
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": {"code": -32000, "message": why}}).encode()


def number_of(line: bytes) -> Any:
    """Return a request's id, None where there is none to answer."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message.get("id") if isinstance(message, dict) else None


def run(url: str, source: BinaryIO, target: BinaryIO) -> None:
    """Carry every line until the client closes its end."""
    shim = Shim(url)
    for line in source:
        if not line.strip():
            continue
        answer = shim.carry(line.strip())
        if answer:
            target.write(answer + b"\n")
            target.flush()


def main() -> int:
    """Return the exit status: 2 without an address, else 0."""
    url = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("SOCLAB_MCP_URL", "")
    if not url:
        sys.stderr.write("stdio.py: no address; give the URL as an argument or in SOCLAB_MCP_URL\n")
        return 2
    try:
        run(url, sys.stdin.buffer, sys.stdout.buffer)
    except (BrokenPipeError, KeyboardInterrupt):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
