"""Agents that are a command: started for each trial in a folder of its own, connected over MCP, ended with it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from pytest_soclab.fronts import scratch
from pytest_soclab.fronts.in_process import ChannelSoc, Conduct, Serve, attend
from pytest_soclab.fronts.listener import Listener
from pytest_soclab.fronts.masking import Mask, secrets_of
from pytest_soclab.fronts.mcp import Server
from pytest_soclab.fronts.outside import CommandAgent
from pytest_soclab.fronts.process import MOST_OUTPUT, Process, Start
from pytest_soclab.fronts.prompt import prompt_of
from pytest_soclab.fronts.protocol import Case
from pytest_soclab.gateway.state import ToolResult

_LEFT_BEHIND = 2.0  # seconds that what a command started has to end after it
_DRAINS = 1.0
_OUTPUT_ENDS = 0.5
_SHOWN = 300  # characters of the last line of an error


def conduct_command(agent: CommandAgent, case: Case, serve: Serve, timeout: float) -> Conduct:
    """Let a command work on a case; whatever it does, nothing of it runs when this returns."""
    return _Trial(agent, case).run(serve, timeout)


class _Trial:
    """One command on one case."""

    def __init__(self, agent: CommandAgent, case: Case) -> None:
        self.agent, self.case = agent, case
        self.requests: SimpleQueue[Any] = SimpleQueue()
        self.replies: SimpleQueue[Any] = SimpleQueue()
        self.soc = ChannelSoc(self.requests, self.replies)
        self.prompt = prompt_of(case)
        self.server = Server(case, self._call, self.prompt)
        self.listener = Listener(self.server.answer, self.server.lose)
        self.mask = Mask({**secrets_of(agent.variables), "SOCLAB_MCP_URL": self.listener.token})

    def _call(self, tool: str, arguments: Any, cites: Any) -> ToolResult:
        return self.soc.call(self.mask.text(tool), self.mask.value(arguments), self.mask.value(cites))

    def run(self, serve: Serve, timeout: float) -> Conduct:
        folder = scratch.make_scratch(self.listener.url, self.prompt)
        try:
            return self._masked(self._in(folder, serve, timeout))
        finally:
            self.replies.put(None)
            self.listener.close()
            scratch.remove(folder)

    def _in(self, folder: Path, serve: Serve, timeout: float) -> Conduct:
        try:
            process = self._started(folder)
        except (OSError, ValueError) as error:  # no such program, a NUL in a word
            return Conduct(cause=f"the agent's command could not be started: {error}")
        watch = threading.Thread(target=self._watch, args=(process,), name="soclab-watch", daemon=True)
        watch.start()
        try:
            conducted = attend(self.requests, self.replies, serve, timeout)
        finally:
            self.replies.put(None)
            process.end()
            watch.join(_DRAINS + _OUTPUT_ENDS)
        return replace(conducted, cause=conducted.cause or self._lost(), annex=annex(process))

    def _started(self, folder: Path) -> Process:
        if self.agent.user is not None:
            scratch.hand_to(folder, self.agent.user)
        url = self.listener.url
        values = {
            "{mcp_url}": url,
            "{mcp_config}": str(folder / scratch.CONFIG),
            "{prompt_file}": str(folder / scratch.PROMPT),
            "{prompt}": self.prompt,
        }
        words = [filled(word, values) for word in self.agent.words]
        variables = {**_surroundings(folder, url), **self.agent.variables}
        start = Start(words, folder, variables, self.prompt, self.listener.token, self.agent.user)
        return Process(start, self._flooded)

    def _flooded(self) -> None:
        self.requests.put(("ended", f"the agent wrote more than {MOST_OUTPUT // 1_048_576} MiB of output"))

    def _watch(self, process: Process) -> None:
        """Wait for the command's end, serve what it sent before, and end the trial."""
        status = process.wait()
        left = process.wait_for_others(_LEFT_BEHIND)
        process.end()
        self.listener.drain(_DRAINS)
        self.requests.put(("ended", _cause(status, left, process)))

    def _lost(self) -> str:
        lost = self.server.lost
        return f"the agent sent {len(lost)} messages that could not be read, first: {lost[0]}" if lost else ""

    def _masked(self, conducted: Conduct) -> Conduct:
        cause, noted = self.mask.text(conducted.cause), self.mask.value(conducted.annex)
        return replace(conducted, cause=cause, annex=noted)


def filled(word: str, values: Mapping[str, str]) -> str:
    """Return a word with every placeholder replaced in one pass, so that no value is read for placeholders again."""
    import re

    pattern = "|".join(re.escape(name) for name in values)
    return re.sub(pattern, lambda found: values[found[0]], word)


def _surroundings(folder: Path, url: str) -> dict[str, str]:
    """Return the variables that every command gets."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "TMPDIR": str(folder / "tmp"),
        "LANG": "C.UTF-8",
        "SOCLAB_MCP_URL": url,
        "SOCLAB_MCP_CONFIG": str(folder / scratch.CONFIG),
        "SOCLAB_MCP_COMMAND": json.dumps(scratch.stdio_words(url)),
        "SOCLAB_PROMPT_FILE": str(folder / scratch.PROMPT),
    }


def _cause(status: int, left: int, process: Process) -> str:
    if status != 0:
        said = process.stderr.text(_OUTPUT_ENDS).strip().rpartition("\n")[2][:_SHOWN]
        return f"the agent's command {_ended(status)}" + (f": {said}" if said else "")
    return f"the agent's command ended and left {left} processes running" if left else ""


def _ended(status: int) -> str:
    import signal

    if status > 0:
        return f"exited with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def annex(process: Process) -> dict[str, Any]:
    """Return what a transcript keeps of a command: the ends of its outputs; the last output is its ungraded note."""
    output, errors = process.stdout.text(_OUTPUT_ENDS), process.stderr.text(_OUTPUT_ENDS)
    return {
        "status": process.wait(),
        "note": output.strip()[-_NOTE:],
        "stdout": {"bytes": process.stdout.size, "end": output},
        "stderr": {"bytes": process.stderr.size, "end": errors},
    }


_NOTE = 4_096
