"""The Model Context Protocol over one trial: messages in, messages out, no transport.

Revision 2025-11-25 and those before it, tools alone. A denial is a normal result and never an error of the protocol,
because clients abort their run on one. Sources: the specification's pages on lifecycle, tools and ping.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_soclab import __version__
from pytest_soclab.fronts.in_process import TrialOver
from pytest_soclab.fronts.listener import Reply
from pytest_soclab.fronts.protocol import Case
from pytest_soclab.fronts.tool_view import Toolbox, ToolView, toolbox
from pytest_soclab.gateway.state import ToolResult

NEWEST = "2025-11-25"
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", NEWEST)
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, OVER = -32700, -32600, -32601, -32602, -32000

Call = Callable[[str, Any, Any], ToolResult]
"""Proposes one call: the gateway's tool name, arguments, cites."""
Message = dict[str, Any]


class ProtocolFault(Exception):  # noqa: N818 - the client's, and what it is answered
    """A message that cannot be served: the JSON-RPC code and what is wrong."""

    def __init__(self, code: int, what: str) -> None:
        super().__init__(what)
        self.code = code


class OtherRevision(ProtocolFault):
    """A message whose header names a revision that is not spoken here; HTTP answers it with status 400."""


@dataclass(slots=True)
class Server:
    """Serves one case's tools; `lost` are messages that could not be read, any of which may have been a proposal."""

    case: Case
    call: Call
    instructions: str = ""
    lost: list[str] = field(default_factory=list)
    tools: Toolbox = field(init=False)

    def __post_init__(self) -> None:
        self.tools = toolbox(self.case.tools)

    def answer(self, body: bytes, revision: str | None = None) -> Reply:
        """Return the answer to one message as it arrived; `revision` is the one that its request's header names."""
        number: Any = None
        try:
            message = read(body)
            number = message.get("id")
            _check_revision(message, revision)
            return Reply(self._answer(message, number))
        except ProtocolFault as fault:
            if fault.code in (PARSE_ERROR, INVALID_REQUEST):
                self.lose(str(fault))
            return Reply(error(number, fault.code, str(fault)), isinstance(fault, OtherRevision))
        except TrialOver as over:
            return Reply(error(number, OVER, str(over)))

    def lose(self, what: str) -> None:
        """Note a message that could not be read; a flood of them is counted by its first few."""
        if len(self.lost) < _MOST_LOST:
            self.lost.append(what)

    def _answer(self, message: Message, number: Any) -> Message | None:
        method = message.get("method")
        if method is None and ("result" in message or "error" in message):
            return None  # an answer to a question that nobody asked
        if not isinstance(method, str):
            raise ProtocolFault(INVALID_REQUEST, "the message has no method")
        if "id" not in message:
            if method == "tools/call":
                raise ProtocolFault(INVALID_REQUEST, "tools/call has no id, so its result would reach nobody")
            return None
        if not isinstance(number, str | int):
            raise ProtocolFault(INVALID_REQUEST, "the id is neither a text nor a whole number")
        return {"jsonrpc": "2.0", "id": number, "result": self._result(method, message.get("params"))}

    def _result(self, method: str, params: Any) -> Message:
        given = params if isinstance(params, dict) else {}
        match method:
            case "initialize":
                return self._initialized(given)
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [_listed(view) for view in self.tools.tools.values()]}
            case "tools/call":
                return self._called(given)
        raise ProtocolFault(NO_METHOD, f"no method {method[:64]!r}")

    def _initialized(self, params: Message) -> Message:
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in REVISIONS else NEWEST,
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": "pytest-soclab", "version": __version__},
            "instructions": self.instructions,
        }

    def _called(self, params: Message) -> Message:
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str):
            raise ProtocolFault(INVALID_PARAMS, "tools/call has no name of a tool")
        view = self.tools.get(name)
        given = {} if arguments is None else arguments
        if view is None or not isinstance(given, dict):
            result = self.call(view.tool if view else name, given, ())  # the gateway says what is wrong with it
        else:
            result = self.call(view.tool, *view.opened(given, self.tools.names))
        return {"content": [{"type": "text", "text": told(result)}], "isError": False}


_MOST_LOST = 20


def read(body: bytes) -> Message:
    """Read one message.

    Raises:
        ProtocolFault: when it is no JSON object in UTF-8.
    """
    try:
        message = json.loads(body.decode("utf-8"))
    except UnicodeDecodeError as fault:
        raise ProtocolFault(PARSE_ERROR, f"the message is no UTF-8 at byte {fault.start}") from None
    except (ValueError, RecursionError) as fault:
        raise ProtocolFault(PARSE_ERROR, f"the message is no JSON: {str(fault)[:120]}") from None
    if not isinstance(message, dict):
        raise ProtocolFault(INVALID_REQUEST, "the message is no object; send one message at a time")
    return message


def _check_revision(message: Message, revision: str | None) -> None:
    """Refuse a message under a revision that is not spoken here, save for the one that agrees on a revision.

    A newer client asks first with a method of its own, and goes back to `initialize` when it reads that there is none.
    """
    method = message.get("method")
    if revision is None or revision in REVISIONS or method == "initialize":
        return
    code = INVALID_REQUEST if method == "tools/call" else NO_METHOD
    raise OtherRevision(code, f"MCP-Protocol-Version {revision[:32]!r} is not spoken here, but {', '.join(REVISIONS)}")


def error(number: Any, code: int, what: str) -> Message:
    """Return a JSON-RPC error."""
    known = number if isinstance(number, str | int) else None
    return {"jsonrpc": "2.0", "id": known, "error": {"code": code, "message": what}}


def _listed(view: ToolView) -> Message:
    hints = {"readOnlyHint": view.reads}
    return {"name": view.name, "description": view.description, "inputSchema": dict(view.schema), "annotations": hints}


def told(result: ToolResult) -> str:
    """Return a call's result as the JSON text that the model reads; evidence carries the id to cite."""
    return json.dumps(_told(result), ensure_ascii=False)


def _told(result: ToolResult) -> Mapping[str, Any]:
    if result.denied:
        return {"denied": list(result.denied), "why": result.error}
    if not result.ok:
        return {"error": result.error}
    return {**({"evidence": result.evidence} if result.evidence else {}), "data": result.data}
