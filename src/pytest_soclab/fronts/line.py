"""The line between an agent outside of this process and its trial: a listener on one end, two queues on the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

from pytest_soclab.fronts.in_process import ChannelSoc, Conduct, Serve, attend, finding_of
from pytest_soclab.fronts.listener import Listener
from pytest_soclab.fronts.masking import Mask
from pytest_soclab.fronts.mcp import Server
from pytest_soclab.fronts.prompt import prompt_of
from pytest_soclab.fronts.protocol import Case, Finding
from pytest_soclab.gateway.state import ToolResult


class Line:
    """Open from the moment it is made until `close`; what comes through it holds no secret of the session."""

    def __init__(self, case: Case, secrets: Mapping[str, str], template: str | None = None) -> None:
        self.case = case
        self.prompt = prompt_of(case, template)
        self._requests: SimpleQueue[Any] = SimpleQueue()
        self._replies: SimpleQueue[Any] = SimpleQueue()
        self._soc = ChannelSoc(self._requests, self._replies)
        self._server = Server(case, self._call, self.prompt)
        self._listener = Listener(self._server.answer, self._server.lose)
        self.url, self.token = self._listener.url, self._listener.token
        self.mask = Mask({**secrets, "SOCLAB_MCP_URL": self.token})

    def _call(self, tool: str, arguments: Any, cites: Any) -> ToolResult:
        return self._soc.call(self.mask.text(tool), self.mask.value(arguments), self.mask.value(cites))

    def attend(self, serve: Serve, timeout: float) -> Conduct:
        """Serve calls until the agent's work ends; a message that nobody could read may have been one of them."""
        try:
            conducted = attend(self._requests, self._replies, serve, timeout)
        finally:
            self._replies.put(None)
        lost = self._server.lost
        unread = f"the agent sent {len(lost)} messages that could not be read, first: {lost[0]}" if lost else ""
        return replace(conducted, cause=conducted.cause or unread)

    def end(self, cause: str) -> None:
        """End the agent's work, well where there is no cause."""
        self._requests.put(("ended", cause))

    def publish(self, finding: Finding) -> None:
        """End the agent's work with a finding."""
        self._requests.put(("finding", finding_of(finding, self.case).to_text()))

    def drain(self, seconds: float) -> None:
        """Serve what an agent that has ended sent before."""
        self._listener.drain(seconds)

    def close(self) -> None:
        """Serve nothing more."""
        self._replies.put(None)
        self._listener.close()

    def masked(self, conducted: Conduct) -> Conduct:
        """Return how an agent's work ended, without secrets."""
        return replace(conducted, cause=self.mask.text(conducted.cause), annex=self.mask.value(conducted.annex))
