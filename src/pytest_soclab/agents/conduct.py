"""Runs one agent on one case: bounded in time, kept apart from the world, every failure a cause and no exception.

A scripted agent is ours and runs in line. Any other agent runs in a thread of its own and talks through two queues of
plain data: what it holds leads to the queues and no further, and when it hangs the trial goes on without it.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty as Nothing
from queue import SimpleQueue
from typing import Any

from pytest_soclab.agents.protocol import Agent, Case, Finding
from pytest_soclab.agents.scripted import Scripted
from pytest_soclab.clock import monotonic
from pytest_soclab.gateway.state import ToolResult

Call = Callable[[Any, Any, Any], ToolResult]


class TrialOver(Exception):
    """The trial has ended; no further call is served."""


@dataclass(frozen=True, slots=True)
class Conduct:
    """How the agent's work ended: its finding, and the cause where it did not end well."""

    finding: Finding | None = None
    cause: str = ""


class InlineSoc:
    """The soc of our own scripted agents."""

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call = call

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, cites: Sequence[str] = ()) -> ToolResult:
        """Propose one call."""
        return self._call(tool, arguments if arguments is not None else {}, cites)


class ChannelSoc:
    """The soc of a live agent: two queues, and nothing behind them that an attribute leads to."""

    __slots__ = ("_replies", "_requests")

    def __init__(self, requests: SimpleQueue[Any], replies: SimpleQueue[Any]) -> None:
        self._requests = requests
        self._replies = replies

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, cites: Sequence[str] = ()) -> ToolResult:
        """Propose one tool call and return its result, or the denial with its reasons.

        Raises:
            TrialOver: when the trial has ended, by a time-out for instance.
        """
        self._requests.put(("call", tool, arguments if arguments is not None else {}, cites))
        reply = self._replies.get()
        if reply is None:
            self._replies.put(None)
            raise TrialOver("the trial has ended")
        assert isinstance(reply, ToolResult)  # noqa: S101 - narrows what the queue holds
        return reply

    async def acall(
        self, tool: str, arguments: Mapping[str, Any] | None = None, cites: Sequence[str] = ()
    ) -> ToolResult:
        """Propose one tool call without blocking the agent's event loop."""
        return await asyncio.to_thread(self.call, tool, arguments, cites)


def conduct(agent: Agent, case: Case, call: Call, timeout: float) -> Conduct:
    """Let an agent work on a case; `call` serves its proposals, `timeout` is in seconds."""
    if isinstance(agent, Scripted):
        return _inline(agent, case, call)
    return _apart(agent, case, call, timeout)


def _inline(agent: Scripted, case: Case, call: Call) -> Conduct:
    try:
        return _checked(agent.investigate(case, InlineSoc(call)))
    except Exception as error:  # noqa: BLE001 - whatever an agent raises is the trial's cause
        return Conduct(cause=_raised(error))


def _checked(finding: Any) -> Conduct:
    if finding is not None and not isinstance(finding, Finding):
        return Conduct(cause=f"the agent returned a {type(finding).__name__}, expected a Finding or None")
    return Conduct(finding)


def _raised(error: BaseException) -> str:
    text = str(error)
    short = text if len(text) <= 500 else f"{text[:500]}… ({len(text)} characters)"
    return f"the agent raised {type(error).__name__}: {short}"


def _work(agent: Agent, case: Case, soc: ChannelSoc, requests: SimpleQueue[Any]) -> None:
    try:
        result = agent.investigate(case, soc)
        if inspect.isawaitable(result):
            result = asyncio.run(_await(result))
        requests.put(("done", result))
    except BaseException as error:  # noqa: BLE001 - an agent may raise SystemExit or pytest's outcomes too
        requests.put(("raised", _raised(error)))


async def _await(result: Any) -> Any:
    return await result


def _apart(agent: Agent, case: Case, call: Call, timeout: float) -> Conduct:
    requests: SimpleQueue[Any] = SimpleQueue()
    replies: SimpleQueue[Any] = SimpleQueue()
    soc = ChannelSoc(requests, replies)
    thread = threading.Thread(target=_work, args=(agent, case, soc, requests), name="soclab-agent", daemon=True)
    thread.start()
    try:
        return _serve(requests, replies, call, monotonic() + timeout, timeout)
    finally:
        replies.put(None)


def _serve(requests: SimpleQueue[Any], replies: SimpleQueue[Any], call: Call, until: float, timeout: float) -> Conduct:
    while True:
        try:
            message = requests.get(timeout=max(0.0, until - monotonic()))
        except Nothing:
            return Conduct(cause=f"the agent did not finish within {timeout:g} s")
        match message:
            case ("call", tool, arguments, cites):
                replies.put(call(tool, arguments, cites))
            case ("done", finding):
                return _checked(finding)
            case (_, cause):
                return Conduct(cause=str(cause))


def plain(value: Any) -> Any:
    """Return a private copy of plain JSON data."""
    return json.loads(json.dumps(value))
