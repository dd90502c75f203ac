"""An agent that looks for more than it was given: nothing leads anywhere, and what it bends is noticed."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from core.support import Bench, of_type
from pytest_soclab.fronts.outside import CommandAgent

from .support import agent, listening

LOOKS = """
read_note()
other = urlsplit(sys.argv[1])
def ask(port, path):
    own = http.client.HTTPConnection("127.0.0.1", port)
    own.request("POST", path, json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}), JSON)
    return own.getresponse().status
links = ["/proc/self/fd/" + name for name in os.listdir("/proc/self/fd") if int(name) > 2]
handles = [link for link in links if os.path.lexists(link) and "socket" in os.readlink(link)]
print(json.dumps({
    "own token there": ask(other.port, PARTS.path), "other token here": ask(PARTS.port, other.path),
    "variables": [name for name in os.environ if "NOT_FOR" in name],
    "handles": handles,
    "above": os.path.exists("../transcripts"),
}))
"""


def test_another_trials_token_handles_and_variables_lead_nowhere(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOT_FOR_AGENTS", "the parent's own")
    with listening() as (other, server):
        words = (sys.executable, "-I", "-S", str(tmp_path / "agent.py"), other.url)
        outcome = bench.run(bench.base, agent(tmp_path, LOOKS, words=words))
        assert server.lost == []
    (annex,) = of_type(outcome.events, "annex")
    seen: dict[str, Any] = json.loads(annex["stdout"]["end"])
    assert seen["own token there"] == 404
    assert seen["other token here"] == 404
    assert seen["variables"] == []
    assert len(seen["handles"]) <= 1  # its own connection
    assert seen["above"] is False


SHELL = """
id -u; cat /proc/$PPID/environ > stolen 2>&1 && echo VARIABLES; dd if=/proc/$PPID/mem of=m count=1 2>&1 && echo MEMORY
kill -0 $PPID 2>&1 && echo SIGNAL; ls {secret} 2>&1 && echo FILES; ls . && echo OWN
"""


def test_another_user_reads_nothing_of_the_session(bench: Bench, tmp_path: Path) -> None:
    """Where the lab may choose the user; elsewhere the option says that it may not (see the tests of the options)."""
    (tmp_path / "transcripts").mkdir(mode=0o700)
    script = SHELL.format(secret=tmp_path / "transcripts")
    user = "nobody" if os.geteuid() == 0 else None
    outcome = bench.run(bench.base, CommandAgent(("/bin/sh", "-c", script), "shell", user=user))
    (annex,) = of_type(outcome.events, "annex")
    said = annex["stdout"]["end"].split()
    assert "OWN" in said
    assert "prompt.txt" in said
    if user is not None:
        assert said[0] != "0"
        assert not {"VARIABLES", "MEMORY", "SIGNAL", "FILES"} & set(said)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the call is Linux's own")
def test_the_labs_memory_is_closed_while_an_agent_runs_and_open_again_after_it(bench: Bench, tmp_path: Path) -> None:
    def dumpable() -> int:
        return int(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))

    before, during = dumpable(), []
    serve = bench.gateway(agent=agent(tmp_path, "read_note()")).serve

    from pytest_soclab.fronts.dispatch import conduct

    def watched(request: Any) -> Any:
        during.append(dumpable())
        return serve(request)

    conduct(agent(tmp_path, "read_note()"), bench.base.case(), watched, 30)
    assert during == [0]
    assert dumpable() == before
