"""`soclab serve`: a person with a client plays one case."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from pytest_soclab.evidence.ledger import verify

from .support import Client


def test_a_case_is_served_until_it_is_interrupted_and_its_transcript_kept(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "pytest_soclab.cli.main", "serve", "--incident", "identity-compromise"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COV_")}
    process = subprocess.Popen(
        [*words, "--transcript", "kept.jsonl"], cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=kept
    )
    assert process.stdout is not None
    try:
        said = []
        for line in process.stdout:
            said.append(line)
            if line.startswith("transcript"):
                break
        url = re.search(r"MCP +(\S+)", "".join(said))
        assert url is not None
        client = Client(url[1])
        found = client.call("siem_search", {"query": "user:alex.rivera"})
        assert client.call("identity_disable_account", {"user": "svc-backup", "cites": [found["evidence"]]})["denied"]
        client.connection.close()
        process.send_signal(signal.SIGTERM)
        rest = process.communicate(timeout=30)[0]
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert "siem.search" in rest
    assert "protected_asset" in rest
    events = [json.loads(line) for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    assert verify(events) is None
    assert [e["type"] for e in events].count("proposal") == 2


def test_an_unknown_incident_is_named_with_the_nearest(capsys) -> None:
    from pytest_soclab.cli.main import main

    assert main(["serve", "--incident", "identity-compromize"]) == 2
    assert "did you mean 'identity-compromise'?" in capsys.readouterr().err
