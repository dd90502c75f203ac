"""Agents that are a service: asked over HTTP for each trial, so that what they import is paid for once.

The request, by POST: `{"protocol": "soclab-agent/1", "case": {"incident", "alert", "goal"}, "prompt", "seconds",
"mcp_url"}`. The answer, when the work is done: `{"finding": {…} or null, "note": "…"}` with status 200.
"""

from __future__ import annotations

import http.client
import json
import threading
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from pytest_soclab.fronts.in_process import Conduct, Serve
from pytest_soclab.fronts.line import Line
from pytest_soclab.fronts.outside import ServiceAgent
from pytest_soclab.fronts.protocol import Case, Claim, Finding

PROTOCOL = "soclab-agent/1"
MOST_ANSWERED = 1_048_576
_NOTE = 4_096


class _Claim(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    text: str
    evidence: list[str] = []


class _Finding(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    summary: str
    verdict: str = "undetermined"
    claims: list[_Claim] = []
    techniques: list[str] = []
    accused: list[str] = []
    recommended_action: str = ""

    def plain(self) -> Finding:
        """Return the finding as the gateway is asked to publish it; whether its words are valid ones is said there."""
        claims = [Claim(claim.text, claim.evidence) for claim in self.claims]
        return Finding(**{**dict(self), "claims": claims})


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    finding: _Finding | None = None
    note: str = ""


@dataclass(slots=True)
class _Asked:
    """What came back: the note, and the connection to break off."""

    connection: http.client.HTTPConnection
    note: str = ""


def conduct_service(agent: ServiceAgent, case: Case, serve: Serve, timeout: float) -> Conduct:
    """Let a service work on a case; its connection is broken off when time runs out."""
    line = Line(case, {}, agent.template)
    asked = _Asked(_connection(agent.url, timeout))
    work = threading.Thread(target=_ask, args=(agent, line, asked, timeout), name="soclab-service", daemon=True)
    work.start()
    try:
        conducted = line.attend(serve, timeout)
    finally:
        line.close()
        _break_off(asked.connection)
        work.join(1.0)
    return line.masked(replace(conducted, annex={"note": asked.note}))


def _connection(url: str, timeout: float) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.hostname or "", parts.port, timeout=timeout + 5)


def _break_off(connection: http.client.HTTPConnection) -> None:
    import contextlib
    import socket

    held = connection.sock
    if held is not None:
        with contextlib.suppress(OSError):  # it ended by itself
            held.shutdown(socket.SHUT_RDWR)
    connection.close()


def _ask(agent: ServiceAgent, line: Line, asked: _Asked, timeout: float) -> None:
    try:
        answer = _answer(agent, line, asked.connection, timeout)
    except (OSError, http.client.HTTPException, AttributeError) as error:  # the last is http.client's, broken off
        line.end(f"the agent's service could not be asked: {error}")
    except ValueError as error:
        line.end(str(error))
    else:
        asked.note = answer.note[-_NOTE:]
        line.end("") if answer.finding is None else line.publish(answer.finding.plain())


def _answer(agent: ServiceAgent, line: Line, connection: http.client.HTTPConnection, timeout: float) -> _Answer:
    parts = urlsplit(agent.url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection.request("POST", path, _question(line, timeout), {"Content-Type": "application/json"})
    response = connection.getresponse()
    body = response.read(MOST_ANSWERED + 1)
    if response.status != 200:
        raise ValueError(f"the agent's service answered with status {response.status}")
    if len(body) > MOST_ANSWERED:
        raise ValueError(f"the agent's service answered more than {MOST_ANSWERED} bytes")
    try:
        return _Answer.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"the agent's service gave no {PROTOCOL} answer: {place} {first['msg']}"[:300]) from None


def _question(line: Line, timeout: float) -> bytes:
    case = line.case
    asked: dict[str, Any] = {
        "protocol": PROTOCOL,
        "case": {"incident": case.incident, "alert": case.alert, "goal": case.goal},
        "prompt": line.prompt,
        "seconds": timeout,
        "mcp_url": line.url,
    }
    return json.dumps(asked).encode()
