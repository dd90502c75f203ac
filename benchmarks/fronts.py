"""What the MCP listener adds to a call, and what it costs to set one up for a trial.

Run `python benchmarks/fronts.py [--quick] [--pairs N]`. A pair is the same reading calls in one trial's gateway, once
from a thread of this process and once over HTTP from a client on one connection; the client's own work counts to the
listener. Seconds are the processor's.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from common import arguments, row

from pytest_soclab.base import resources
from pytest_soclab.base.settings import Settings
from pytest_soclab.fronts import scratch
from pytest_soclab.fronts.in_process import ChannelSoc, attend
from pytest_soclab.fronts.line import Line
from pytest_soclab.gateway.gateway import Door
from pytest_soclab.scenario.load import load_scenario
from pytest_soclab.trials.lab import Lab
from pytest_soclab.trials.trial import Control, guarded_door, state_of
from pytest_soclab.trials.unit import Unit

CALL = ("siem.search", {"query": "user:alex.rivera source:helpdesk", "limit": 1})


def door_of(lab: Lab, unit: Unit) -> Door:
    """Return a fresh gateway."""
    state = state_of(unit, "benchmark", unit.obey(), unit.world(), lab.level)
    return guarded_door(state, lab.key, Control(lab.engine(), unit.approver()))


def in_process(lab: Lab, unit: Unit, calls: int) -> float:
    """Return the seconds of a call from a thread of this process."""
    requests: SimpleQueue[Any] = SimpleQueue()
    replies: SimpleQueue[Any] = SimpleQueue()
    soc = ChannelSoc(requests, replies)
    took: list[float] = []
    work = threading.Thread(target=lambda: took.append(timed(lambda: soc.call(*CALL), calls, requests)))
    work.start()
    attend(requests, replies, door_of(lab, unit).serve, 600)
    work.join()
    return took[0]


def over_mcp(lab: Lab, unit: Unit, calls: int) -> float:
    """Return the seconds of a call over HTTP."""
    line = Line(unit.case(), {})
    parts = urlsplit(line.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    params = {"name": "siem_search", "arguments": CALL[1]}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    requests: SimpleQueue[Any] = SimpleQueue()
    took: list[float] = []

    def call() -> None:
        connection.request("POST", parts.path, body, {"Content-Type": "application/json"})
        connection.getresponse().read()

    def work() -> None:
        took.append(timed(call, calls, requests))
        line.end("")

    thread = threading.Thread(target=work)
    thread.start()
    line.attend(door_of(lab, unit).serve, 600)
    thread.join()
    connection.close()
    line.close()
    return took[0]


def timed(call: Callable[[], Any], calls: int, requests: SimpleQueue[Any]) -> float:
    """Return the seconds of one call and end the work."""
    call()
    started = time.process_time()
    for _ in range(calls):
        call()
    took = (time.process_time() - started) / calls
    requests.put(("ended", ""))
    return took


def set_up(unit: Unit) -> float:
    """Return the seconds until a command could be started, and those to clear up behind it."""
    started = time.process_time()
    line = Line(unit.case(), {"KEY": "sk-live-0123456789abcdef"})
    folder = scratch.make_scratch(line.url, line.prompt)
    line.close()
    scratch.remove(folder)
    return time.process_time() - started


def main() -> None:
    """Print the table."""
    options = arguments(__doc__)
    calls = 40 if options.quick else 200
    lab = Lab(Settings())
    path = next((resources.scenarios() / "controls").glob("BEN-001*.yaml"))
    unit = lab.unit(load_scenario(path, lab.vocabulary, path.name), "plain")
    pairs = []
    for number in range(options.pairs):
        first, second = (in_process, over_mcp) if number % 2 else (over_mcp, in_process)
        both = {first: first(lab, unit, calls), second: second(lab, unit, calls)}
        pairs.append((both[in_process], both[over_mcp]))
    row("a call from a thread of the lab", f"{median(a for a, _ in pairs) * 1000:.2f} ms")
    row("the same call over MCP", f"{median(b for _, b in pairs) * 1000:.2f} ms")
    row("what the listener adds to a call", f"{median(b - a for a, b in pairs) * 1000:.2f} ms", "at most 2 ms")
    row("setting a trial's line up and clearing it away", f"{median(set_up(unit) for _ in range(20)) * 1000:.1f} ms",
        "at most 60 ms")  # fmt: skip
    lab.close()


if __name__ == "__main__":
    main()
