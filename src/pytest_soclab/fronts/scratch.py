"""The folder that a command starts in: the prompt, and the MCP server in the shapes that clients read."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_soclab.fronts import stdio

PROMPT, CONFIG, STDIO_CONFIG = "prompt.txt", "mcp.json", "mcp.stdio.json"
NAME = "soc"
"""What clients call the server."""


def stdio_words(url: str) -> list[str]:
    """Return the command that speaks MCP on standard input and output for a trial's address."""
    return [sys.executable, "-I", str(Path(stdio.__file__).resolve()), url]


def make_scratch(url: str, prompt: str) -> Path:
    """Return a new folder of the session's user alone, with the files of a trial."""
    folder = Path(tempfile.mkdtemp(prefix="soclab-"))
    (folder / "tmp").mkdir()
    (folder / PROMPT).write_text(prompt, encoding="utf-8")
    for name, text in configs(url).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def configs(url: str) -> Mapping[str, str]:
    """Return the server in the file and the shape of each client that is known to read one from its folder."""
    command, *words = stdio_words(url)
    usual = _json({"mcpServers": {NAME: {"type": "http", "url": url}}})
    return {
        CONFIG: usual,
        STDIO_CONFIG: _json({"mcpServers": {NAME: {"command": command, "args": words}}}),
        ".mcp.json": usual,
        ".cursor/mcp.json": _json({"mcpServers": {NAME: {"url": url}}}),
        ".vscode/mcp.json": _json({"servers": {NAME: {"type": "http", "url": url}}}),
        ".gemini/settings.json": _json({"mcpServers": {NAME: {"httpUrl": url}}}),
        ".codex/config.toml": f"[mcp_servers.{NAME}]\ncommand = {json.dumps(command)}\nargs = {json.dumps(words)}\n",
        "opencode.json": _json({"mcp": {NAME: {"type": "remote", "url": url}}}),
    }


def _json(value: Any) -> str:
    return json.dumps(value, indent=1) + "\n"


def hand_to(folder: Path, user: str) -> None:
    """Make a folder another user's."""
    for path in (folder, *folder.rglob("*")):
        shutil.chown(path, user)


def remove(folder: Path) -> None:
    """Remove a folder, whatever an agent did to the rights in it."""
    shutil.rmtree(folder, onerror=_insist)


def _insist(act: Callable[..., Any], path: str, _: Any) -> None:
    """Give the rights back that a removal lacks, and try once more; what stays then is left to the system."""
    try:
        for place in (os.path.dirname(path), path):  # noqa: PTH120 - the path may be no valid text
            if not os.path.islink(place):  # noqa: PTH114 - as above
                os.chmod(place, stat.S_IRWXU)  # noqa: PTH101 - as above
        act(path)
    except OSError:
        return
