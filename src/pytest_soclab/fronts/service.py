"""Agents that are a service: asked over HTTP for each trial, so that what they import is paid for once.

The request, by POST: `{"protocol": "soclab-agent/1", "case": {"incident", "alert", "goal"}, "prompt", "seconds",
"mcp_url"}`. The answer, when the work is done: `{"finding": {…} or null, "note": "…"}` with status 200.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol
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


class _Http:
    """One question over plain HTTP; `break_off` ends it from another thread."""

    def __init__(self, url: str, timeout: float) -> None:
        self._parts = urlsplit(url)
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(self._parts.hostname or "", self._parts.port, timeout=timeout + 5)

    def ask(self, question: Mapping[str, Any], seconds: float) -> Any:  # noqa: ARG002 - the connection has its own
        """Return what the service answered.

        Raises:
            ValueError: when it cannot be asked, or answers no JSON document.
        """
        path = (self._parts.path or "/") + (f"?{self._parts.query}" if self._parts.query else "")
        try:
            self._connection.request("POST", path, json.dumps(question), {"Content-Type": "application/json"})
            response = self._connection.getresponse()
            body = response.read(MOST_ANSWERED + 1)
        except (OSError, http.client.HTTPException, AttributeError) as error:  # the last is http.client's, broken off
            raise ValueError(f"the agent's service could not be asked: {error}") from None
        if response.status != 200:
            raise ValueError(f"the agent's service answered with status {response.status}")
        if len(body) > MOST_ANSWERED:
            raise ValueError(f"the agent's service answered more than {MOST_ANSWERED} bytes")
        try:
            return json.loads(body.decode("utf-8"))
        except (ValueError, RecursionError):
            raise ValueError(f"the agent's service gave no {PROTOCOL} answer: no JSON document") from None

    def break_off(self) -> None:
        """End the question, whatever the service does."""
        held = self._connection.sock
        if held is not None:
            with contextlib.suppress(OSError):  # it ended by itself
                held.shutdown(socket.SHUT_RDWR)
        self._connection.close()


class _Conversation(Protocol):
    def ask(self, question: Mapping[str, Any], seconds: float) -> Any: ...

    def break_off(self) -> None: ...


@dataclass(slots=True)
class _Asked:
    """What came back beside the finding."""

    note: str = ""


def conduct_service(agent: ServiceAgent, case: Case, serve: Serve, timeout: float) -> Conduct:
    """Let a service work on a case; its connection is broken off when time runs out."""
    line = Line(case, {}, agent.template)
    conversation, asked = _conversation(agent.url, timeout), _Asked()
    given = (conversation, line, asked, timeout)
    work = threading.Thread(target=_ask, args=given, name="soclab-service", daemon=True)
    work.start()
    try:
        conducted = line.attend(serve, timeout)
    finally:
        line.close()
        conversation.break_off()
        work.join(1.0)
    return line.masked(replace(conducted, annex={"note": asked.note}))


def _conversation(url: str, timeout: float) -> _Conversation:
    if not url.startswith("a2a+"):
        return _Http(url, timeout)
    from pytest_soclab.fronts.agent_to_agent import Conversation

    return Conversation(url)


def _ask(conversation: _Conversation, line: Line, asked: _Asked, timeout: float) -> None:
    try:
        answer = _answer(conversation.ask(_question(line, timeout), timeout))
    except ValueError as error:
        line.end(str(error))
    else:
        asked.note = answer.note[-_NOTE:]
        line.end("") if answer.finding is None else line.publish(answer.finding.plain())


def _answer(said: Any) -> _Answer:
    try:
        return _Answer.model_validate(said)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"the agent's service gave no {PROTOCOL} answer: {place} {first['msg']}"[:300]) from None


def _question(line: Line, timeout: float) -> dict[str, Any]:
    case = line.case
    return {
        "protocol": PROTOCOL,
        "case": {"incident": case.incident, "alert": case.alert, "goal": case.goal},
        "prompt": line.prompt,
        "seconds": timeout,
        "mcp_url": line.url,
    }
