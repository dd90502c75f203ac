"""Asks a service that speaks A2A, through the protocol's own SDK (extra `a2a`).

The message has two parts: the prompt as text, and the question of `soclab-agent/1` as data, with the address of the
trial's tools in it. A finding comes back as data, in a message or an artifact; texts are the note.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

import httpx
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.helpers.proto_helpers import get_data_parts, get_text_parts, new_data_part, new_message, new_text_part
from a2a.types import GetTaskRequest, Part, Role, SendMessageRequest, StreamResponse, Task, TaskState

SCHEME = "a2a+"
MOST_ANSWERED = 1_048_576
_POLL = 0.2
_RUNNING = (TaskState.TASK_STATE_UNSPECIFIED, TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING)
_NOT_DONE = {
    TaskState.TASK_STATE_FAILED: "failed",
    TaskState.TASK_STATE_CANCELED: "was cancelled",
    TaskState.TASK_STATE_REJECTED: "was rejected",
    TaskState.TASK_STATE_INPUT_REQUIRED: "asks for more input, and a case has no more",
    TaskState.TASK_STATE_AUTH_REQUIRED: "asks for credentials, and a case has none",
}


class Conversation:
    """One question to an agent; `break_off` ends it from another thread."""

    def __init__(self, url: str) -> None:
        self.url = url.removeprefix(SCHEME)
        self._loop = asyncio.new_event_loop()
        self._work: asyncio.Task[dict[str, Any]] | None = None

    def ask(self, question: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Return the finding and the note.

        Raises:
            ValueError: when the agent cannot be asked, or its task did not end well.
        """
        self._work = self._loop.create_task(self._answer(question, seconds))
        try:
            return self._loop.run_until_complete(self._work)
        except asyncio.CancelledError:
            raise ValueError("the agent's service was broken off") from None
        except ValueError:
            raise
        except Exception as error:  # the SDK's own errors, httpx's and protobuf's have no base in common
            raise ValueError(f"the agent's service could not be asked: {type(error).__name__}: {error}"[:300]) from None
        finally:
            self._loop.close()

    def break_off(self) -> None:
        """End the conversation, if there still is one."""
        with contextlib.suppress(RuntimeError):  # its loop is closed
            self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._work is not None:
            self._work.cancel()

    async def _answer(self, question: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        async with httpx.AsyncClient(transport=_Bounded(), timeout=seconds, trust_env=False) as http:
            client = await ClientFactory(ClientConfig(streaming=False, httpx_client=http)).create_from_url(self.url)
            parts = [new_text_part(str(question["prompt"])), new_data_part(dict(question))]
            request = SendMessageRequest(message=new_message(parts, role=Role.ROLE_USER))
            async for event in client.send_message(request):
                return _said(await _parts(client, event))
        raise ValueError("the agent's service answered nothing")


async def _parts(client: Client, event: StreamResponse) -> list[Part]:
    """Return what the agent said, once its task is over."""
    if event.HasField("message"):
        return list(event.message.parts)
    task = event.task
    while task.status.state in _RUNNING:
        await asyncio.sleep(_POLL)
        task = await client.get_task(GetTaskRequest(id=task.id))
    if task.status.state in _NOT_DONE:
        raise ValueError(f"the agent's task {_NOT_DONE[task.status.state]}{_reason(task)}")
    return [*(part for artifact in task.artifacts for part in artifact.parts), *task.status.message.parts]


def _reason(task: Task) -> str:
    text = " ".join(get_text_parts(task.status.message.parts))[:200]
    return f": {text}" if text else ""


def _said(parts: Iterable[Part]) -> dict[str, Any]:
    own = list(parts)
    findings = [data for data in get_data_parts(own) if isinstance(data, dict) and "finding" in data]
    return {"note": "\n".join(get_text_parts(own)), **(findings[0] if findings else {})}


class _Bounded(httpx.AsyncHTTPTransport):
    """Gives up on an answer that is larger than any finding."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        stream = response.stream
        assert isinstance(stream, httpx.AsyncByteStream), "an asynchronous transport has no other"
        response.stream = _BoundedStream(stream)
        return response


class _BoundedStream(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > MOST_ANSWERED:
                raise ValueError(f"the agent's service answered more than {MOST_ANSWERED} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
