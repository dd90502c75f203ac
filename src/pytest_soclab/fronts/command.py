"""Agents that are a command: started for each trial in a folder of its own, connected over MCP, ended with it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_soclab.fronts import scratch
from pytest_soclab.fronts.closed import closed
from pytest_soclab.fronts.in_process import Conduct, Serve
from pytest_soclab.fronts.line import Line
from pytest_soclab.fronts.masking import secrets_of
from pytest_soclab.fronts.outside import Brief, CommandAgent
from pytest_soclab.fronts.process import MOST_OUTPUT, Process, Start
from pytest_soclab.fronts.protocol import Case

_LEFT_BEHIND = 2.0  # seconds that what a command started has to end after it
_DRAINS = 1.0
_OUTPUT_ENDS = 0.5
_SHOWN = 300  # characters of the last line of an error


def conduct_command(agent: CommandAgent, case: Case, serve: Serve, timeout: float, brief: Brief) -> Conduct:
    """Let a command work on a case; whatever it does, nothing of it runs when this returns."""
    return _Trial(agent, case, brief).run(serve, timeout)


class _Trial:
    """One command on one case."""

    def __init__(self, agent: CommandAgent, case: Case, brief: Brief) -> None:
        self.agent, self.brief = agent, brief
        self.line = Line(case, secrets_of(agent.variables), agent.template)

    def run(self, serve: Serve, timeout: float) -> Conduct:
        folder = scratch.make_scratch(self.line.url, self.line.prompt)
        try:
            with closed():
                return self.line.masked(self._with_model(folder, serve, timeout))
        finally:
            self.line.close()
            scratch.remove(folder)

    def _with_model(self, folder: Path, serve: Serve, timeout: float) -> Conduct:
        if self.agent.proxy is None:
            return self._in(folder, serve, timeout, {})
        from pytest_soclab.fronts.metered import Metered

        with Metered(self.agent.proxy, self.brief, self.line, folder) as model:
            if why := model.refusal:
                return Conduct(cause=why)
            return model.account(self._in(folder, serve, model.patience(timeout), model.variables))

    def _in(self, folder: Path, serve: Serve, timeout: float, more: Mapping[str, str]) -> Conduct:
        try:
            process = self._started(folder, more)
        except (OSError, ValueError) as error:  # no such program, a NUL in a word
            return Conduct(cause=f"the agent's command could not be started: {error}")
        watch = threading.Thread(target=self._watch, args=(process,), name="soclab-watch", daemon=True)
        watch.start()
        try:
            conducted = self.line.attend(serve, timeout)
        finally:
            process.end()
            watch.join(_DRAINS + _OUTPUT_ENDS)
        return replace(conducted, annex=annex(process))

    def _started(self, folder: Path, more: Mapping[str, str]) -> Process:
        if self.agent.user is not None:
            scratch.hand_to(folder, self.agent.user)
        url = self.line.url
        values = {
            "{mcp_url}": url,
            "{mcp_config}": str(folder / scratch.CONFIG),
            "{prompt_file}": str(folder / scratch.PROMPT),
            "{prompt}": self.line.prompt,
            "{model_url}": more.get("SOCLAB_MODEL_URL", ""),
        }
        words = [filled(word, values) for word in self.agent.words]
        variables = {**_surroundings(folder, url), **self.agent.variables, **more}
        start = Start(words, folder, variables, self.line.prompt, self.line.token, self.agent.user)
        return Process(start, self._flooded)

    def _flooded(self) -> None:
        self.line.end(f"the agent wrote more than {MOST_OUTPUT // 1_048_576} MiB of output")

    def _watch(self, process: Process) -> None:
        """Wait for the command's end, serve what it sent before, and end the trial."""
        status = process.wait()
        left = process.wait_for_others(_LEFT_BEHIND)
        process.end()
        self.line.drain(_DRAINS)
        self.line.end(_cause(status, left, process))


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
