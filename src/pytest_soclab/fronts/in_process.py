"""Runs one agent on one case: bounded in time, kept apart from the world, every failure a cause and no exception.

A scripted agent is ours and runs in line. Any other agent runs in a thread of its own and talks through two queues:
what it holds leads to the queues and no further, and when it hangs the trial goes on without it. What it proposes is
read into JSON text in its own thread, so that no code of its objects runs in the trial's; what it is handed is a copy.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty as Nothing
from queue import SimpleQueue
from typing import Any

from pytest_soclab.fronts.patience import Patience, leave_behind
from pytest_soclab.fronts.protocol import Agent, Case, Finding
from pytest_soclab.fronts.scripted import PUBLISH, Scripted, is_scripted
from pytest_soclab.gateway.normal import Request, request_from, request_of, said
from pytest_soclab.gateway.state import ToolResult

_OURS = Path(__file__).resolve().parent
Serve = Callable[[Request], ToolResult]

MOST_CALLS = 5_000
"""A trial that goes on beyond it costs memory and tells nothing more; call budgets are far below."""


class TrialOver(Exception):  # noqa: N818 - it says what happened; nothing went wrong
    """The trial has ended; no further call is served."""


@dataclass(frozen=True, slots=True)
class Conduct:
    """How the agent's work ended: the finding to publish, and the cause where it did not end well."""

    finding: Request | None = None
    cause: str = ""
    annex: Mapping[str, Any] | None = None
    """What an agent outside of this process left beside its calls, bounded and redacted, for the transcript."""


class InlineSoc:
    """The soc of our own scripted agents."""

    __slots__ = ("_serve",)

    def __init__(self, serve: Serve) -> None:
        self._serve = serve

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, cites: Sequence[str] = ()) -> ToolResult:
        """Propose one call."""
        return self._serve(_request(tool, arguments, cites))


class ChannelSoc:
    """The soc of a live agent: two queues, and nothing behind them that an attribute leads to."""

    __slots__ = ("_one_at_a_time", "_replies", "_requests")

    def __init__(self, requests: SimpleQueue[Any], replies: SimpleQueue[Any]) -> None:
        self._requests = requests
        self._replies = replies
        self._one_at_a_time = threading.Lock()  # an agent's threads would be handed each other's replies

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, cites: Sequence[str] = ()) -> ToolResult:
        """Propose one tool call and return its result, or the denial with its reasons.

        Raises:
            TrialOver: when the trial has ended, by a time-out for instance.
        """
        text = _request(tool, arguments, cites).to_text()
        with self._one_at_a_time:
            self._requests.put(("call", text))
            reply = self._replies.get()
            if reply is None:
                self._replies.put(None)
                raise TrialOver("the trial has ended")
        assert isinstance(reply, ToolResult)  # narrows what the queue holds
        return reply

    async def acall(
        self, tool: str, arguments: Mapping[str, Any] | None = None, cites: Sequence[str] = ()
    ) -> ToolResult:
        """Propose one tool call without blocking the agent's event loop."""
        return await asyncio.to_thread(self.call, tool, arguments, cites)


def _request(tool: Any, arguments: Any, cites: Any) -> Request:
    return request_of(tool, arguments if arguments is not None else {}, cites)


def conduct(agent: Agent, case: Case, serve: Serve, timeout: float) -> Conduct:
    """Let an agent of this process work on a case; `serve` serves its proposals, `timeout` is in seconds."""
    if is_scripted(agent):
        return _inline(agent, case, serve)
    return _apart(agent, case, serve, timeout)


def _inline(agent: Scripted, case: Case, serve: Serve) -> Conduct:
    try:
        agent.investigate(case, InlineSoc(serve))
    except Exception as error:  # whatever an agent raises is the trial's cause
        return Conduct(cause=_raised(error))
    return Conduct()


def _raised(error: BaseException) -> str:
    return f"the agent raised {type(error).__name__}: {said(error)}{_place(error)}"


def _place(error: BaseException) -> str:
    """Return where an exception was raised, as ` (conftest.py:6)`, the innermost frame that is not ours."""
    frames = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    foreign = [(name, line) for name, line in frames if Path(name).parent != _OURS]
    return f" ({Path(foreign[-1][0]).name}:{foreign[-1][1]})" if foreign else ""


def _work(agent: Agent, case: Case, soc: ChannelSoc, requests: SimpleQueue[Any]) -> None:
    try:
        result = agent.investigate(case, soc)
        if inspect.isawaitable(result):
            result = asyncio.run(_await(result))
        requests.put(_done(result, case))
    except BaseException as error:  # an agent may raise SystemExit or pytest's outcomes too
        requests.put(("ended", _said_last(error)))


def _said_last(error: BaseException) -> str:
    """Return what an agent raised; its error may raise anything when it is asked what it says."""
    try:
        return _raised(error)
    except BaseException:
        return f"the agent raised {type(error).__name__}: (it cannot say why)"


async def _await(result: Any) -> Any:
    return await result


def _done(result: Any, case: Case) -> tuple[str, str]:
    """Return the message that ends the agent's work; what is no finding at all is a cause, a bad one a bad proposal."""
    if result is None:
        return "ended", ""
    if not isinstance(result, Finding):
        return "ended", f"the agent returned a {type(result).__name__}, expected a Finding or None"
    return "finding", finding_of(result, case).to_text()


def finding_of(finding: Finding, case: Case) -> Request:
    """Return the call that publishes a finding, one that has a fault where the finding cannot be read."""
    try:
        return request_of(PUBLISH, {"case": case.incident, **Finding.arguments(finding)}, Finding.cites(finding))
    except Exception as error:  # its fields are the agent's objects
        return Request(PUBLISH, {"unreadable": "a finding"}, (), (f"the finding is no plain JSON: {said(error)}",))


def _apart(agent: Agent, case: Case, serve: Serve, timeout: float) -> Conduct:
    requests: SimpleQueue[Any] = SimpleQueue()
    replies: SimpleQueue[Any] = SimpleQueue()
    given = (agent, _own(case), ChannelSoc(requests, replies), requests)
    work = (contextvars.copy_context().run, _work, *given)  # the test's context variables reach the agent
    thread = threading.Thread(target=work[0], args=work[1:], name="soclab-agent", daemon=True)
    thread.start()
    try:
        return attend(requests, replies, serve, timeout)
    finally:
        replies.put(None)
        if thread.is_alive():
            leave_behind()


def attend(requests: SimpleQueue[Any], replies: SimpleQueue[Any], serve: Serve, timeout: float) -> Conduct:
    """Serve an agent's calls one after the other until its work ends, time runs out or it asks too often."""
    messages, calls = Patience(requests, timeout), 0
    while True:
        try:
            kind, text = _opened(messages.get())
        except Nothing:
            return Conduct(cause=f"the agent did not finish within {timeout:g} s")
        if kind == "ended":
            return Conduct(cause=text)
        try:
            request = request_from(text)
        except (ValueError, RecursionError):
            return Conduct(cause="the agent sent something else than calls through its channel")
        if kind == "finding":
            return Conduct(request)
        if calls == MOST_CALLS:
            return Conduct(cause=f"the agent made more than {MOST_CALLS} calls")
        calls += 1
        replies.put(_handed(serve(request)))


def _opened(message: Any) -> tuple[str, str]:
    """Return a message's kind and text; the agent can put anything into the queue, so nothing of it is called."""
    if type(message) is tuple and len(message) == 2 and all(type(part) is str for part in message):
        return message[0], message[1]
    return "call", ""


def _handed(result: ToolResult) -> ToolResult:
    return replace(result, data=plain(result.data))


def _own(case: Case) -> Case:
    """Return a case that shares nothing with the next trial's."""
    tools = tuple(replace(tool, parameters=plain(tool.parameters)) for tool in case.tools)
    return replace(case, alert=plain(case.alert), tools=tools)


def plain(value: Any) -> Any:
    """Return a private copy of plain JSON data."""
    return json.loads(json.dumps(value))
