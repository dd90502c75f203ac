"""What `soclab serve` does: one case behind the control plane for any MCP client, with the transcript as it grows."""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import sys
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from pytest_soclab.base import resources
from pytest_soclab.base.errors import Fault, UsageError, nearest, printable
from pytest_soclab.base.settings import Settings
from pytest_soclab.fronts.in_process import ChannelSoc, attend
from pytest_soclab.fronts.listener import Listener
from pytest_soclab.fronts.mcp import Server
from pytest_soclab.fronts.prompt import prompt_of
from pytest_soclab.fronts.protocol import Case
from pytest_soclab.fronts.scratch import CONFIG, configs, stdio_words
from pytest_soclab.gateway import approvals
from pytest_soclab.gateway.gateway import Door
from pytest_soclab.gateway.normal import Request
from pytest_soclab.gateway.state import Identity, ToolResult, TrialState
from pytest_soclab.report.timeline import told
from pytest_soclab.trials.lab import Lab
from pytest_soclab.trials.trial import Control, guarded_door
from pytest_soclab.trials.unit import tool_specs

_LONGEST = 160
_SLICE = 0.5  # seconds


def serve(options: argparse.Namespace) -> int:
    """Serve one incident until it is interrupted; nothing is judged, a transcript is kept where one is asked for."""
    lab = Lab(Settings(level=options.level, policies=options.policies))
    try:
        _Playground(lab, options).run()
    finally:
        lab.close()
    return 0


class _Playground:
    """A case, the door to its world, and what was printed so far."""

    def __init__(self, lab: Lab, options: argparse.Namespace) -> None:
        loaded, prepared = lab.incident(incident_file(options.incident))
        incident, world = loaded.incident, prepared.world({})
        models = (*world.charter.approved_models, "")
        world.charter = replace(world.charter, approved_models=models)
        self.case = Case(incident.id, incident.alert.model_dump(), incident.goal, tool_specs(lab.registry))
        state = TrialState("serve", world, lab.registry, Identity("client", "", "live"), lab.level.rank)
        approver = approvals.make(options.approver, ())
        self.door: Door = guarded_door(state, lab.key, Control(lab.engine(), approver))
        self.transcript = Path(options.transcript) if options.transcript else None
        self.printed = 0

    def run(self) -> None:
        """Listen, and serve calls in this thread until an interrupt."""
        requests: SimpleQueue[Any] = SimpleQueue()
        replies: SimpleQueue[Any] = SimpleQueue()
        server = Server(self.case, ChannelSoc(requests, replies).call, prompt_of(self.case))
        listener = Listener(server.answer, lambda what: _say(f"unreadable: {what}"))
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            self._welcome(listener.url)
            while True:  # a wait without an end could miss the interrupt
                attend(requests, replies, self._serve, _SLICE)
        except KeyboardInterrupt:
            _say("ended")
        finally:
            replies.put(None)
            listener.close()
            self._keep()

    def _welcome(self, url: str) -> None:
        _say(f"case {self.case.incident}: {self.case.goal}", f"MCP    {url}")
        _say(f"stdio  {shlex.join(stdio_words(url))}", f"config {json.dumps(json.loads(configs(url)[CONFIG]))}")
        _say("prompt", *(f"  {line}" for line in prompt_of(self.case).splitlines()), "transcript (Ctrl-C ends)")

    def _serve(self, request: Request) -> ToolResult:
        result = self.door.serve(request)
        events = self.door.state.ledger.events
        for event in events[self.printed :]:
            tool = event["data"]["tool"] if event["type"] == "proposal" else ""
            _say(f"{event['data'].get('call', '')!s:>4} {event['type']:<14} {tool} {told(event, _LONGEST)}")
        self.printed = len(events)
        return result

    def _keep(self) -> None:
        if self.transcript is not None:
            self.transcript.write_text(self.door.state.ledger.text(), encoding="utf-8")


def incident_file(name: str) -> Path:
    """Return an incident's file: a path, one below `./scenarios/incidents`, or a bundled one.

    Raises:
        UsageError: when there is none.
    """
    folders = (Path("scenarios/incidents"), resources.scenarios() / "incidents")
    choices = [Path(name), *(folder / f"{name}.yaml" for folder in folders)]
    found = next((path for path in choices if path.is_file()), None)
    if found is None:
        names = {path.stem for folder in folders if folder.is_dir() for path in folder.glob("*.yaml")}
        raise UsageError(Fault(f"found the unknown incident {name!r}", field="--incident", remedy=nearest(name, names)))
    return found


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{printable(line)}\n" for line in lines))
    sys.stdout.flush()
