"""The blocks of a documentation page, and a folder in which they run one after the other as a reader would run them.

A block with `title="…"` is a file. `shell` blocks are commands, run in one folder per page; the `text` block after one
is what they print: its lines in this order, `…` standing for lines left out. `python` without a title is run. A comment
on the line before a block says what is special: `<!-- exit 1 -->`, `<!-- not run: reason -->`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt

ELLIPSIS = "…"
_TITLE = re.compile(r'title="([^"]+)"')
_EXIT = re.compile(r"<!-- exit (\d+) -->")
_NOT_RUN = re.compile(r"<!-- not run: (.+?) -->")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, title, text, first line, and the comment before it."""

    language: str
    title: str
    text: str
    line: int
    remark: str

    @property
    def status(self) -> int:
        """The exit status that its commands are to end with."""
        found = _EXIT.search(self.remark)
        return int(found[1]) if found else 0

    @property
    def not_run(self) -> str:
        """Why it is not run here, or an empty text."""
        found = _NOT_RUN.search(self.remark)
        return found[1] if found else ""


def blocks_of(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page, in lists and quotes too."""
    remark = ""
    for token in MarkdownIt("commonmark").parse(text):
        if token.type == "html_block":
            remark = token.content
        elif token.type == "fence":
            language, _, info = token.info.partition(" ")
            title = _TITLE.search(info)
            yield Block(language, title[1] if title else "", token.content, (token.map or [0])[0] + 1, remark)
            remark = ""
        elif token.type.endswith("_open"):
            remark = ""


def missing_line(shown: str, output: str) -> str:
    """Return the first shown line that the output does not have in its place, or an empty text."""
    rest, skipping = [line.rstrip() for line in output.splitlines()], True
    for line in (line.rstrip() for line in shown.splitlines()):
        if line == ELLIPSIS:
            skipping = True
            continue
        if line not in rest or not (skipping or rest[0] == line):
            return line
        rest = rest[rest.index(line) + 1 :]
        skipping = False
    return ""


def clean_environment() -> dict[str, str]:
    """Return an environment in which the commands of this interpreter are found and this test run leaves no trace."""
    ours = ("PYTEST_", "SOCLAB_", "GITHUB_", "COV_", "COVERAGE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**kept, "PATH": path, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONUTF8": "1"}


@dataclass
class Reader:
    """Follows a page in a folder of its own."""

    folder: Path
    output: str = ""
    ran: list[str] = field(default_factory=list)

    def follow(self, block: Block) -> str:
        """Do what a block says and return what went wrong, or an empty text."""
        if block.not_run:
            return ""
        if block.title:
            return self._write(block)
        match block.language:
            case "shell":
                return self._run(["bash", "-euo", "pipefail", "-c", block.text], block)
            case "python":
                return self._run([sys.executable, "-c", block.text], block)
            case "text":
                line = missing_line(block.text, self.output)
                return f"not printed: {line}\n--- printed:\n{self.output}" if line else ""
        return f"a block of {block.language or 'no language'} is neither a file nor run"

    def _write(self, block: Block) -> str:
        path = self.folder / block.title
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        return ""

    def _run(self, command: list[str], block: Block) -> str:
        done = subprocess.run(
            command, cwd=self.folder, env=clean_environment(), capture_output=True, text=True, check=False, timeout=120
        )
        self.output = done.stdout + done.stderr
        self.ran.append(block.text)
        if done.returncode != block.status:
            return f"exit {done.returncode}, expected {block.status}\n{self.output}"
        return ""
