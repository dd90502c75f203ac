"""What the tests of the known-answer gate share: the cases, small score files, the command line in process."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_soclab.cli.main import main
from pytest_soclab.known_answer.reading.key_score import KeyScore, read_key_score

CASES = Path(__file__).parent / "cases"
EXPECTED = json.loads((CASES / "expected.json").read_text())
DOCUMENTED = Path(__file__).parents[2] / "scripts" / "benchmark" / "run.py"


def run_path(name: str) -> str:
    """Return the score file of a run of the cases."""
    return str(CASES / "runs" / name / "score.md")


@dataclass(frozen=True)
class Ran:
    """What one command did."""

    status: int
    out: str
    err: str
    result: Any = None


def soclab(capsys: pytest.CaptureFixture[str], *arguments: object, out: Path | None = None) -> Ran:
    """Run one command in process; with `out`, ask for its JSON result there and read it."""
    words = [str(word) for word in arguments] + (["--json", str(out)] if out else [])
    try:
        status = main(words)
    except SystemExit as stop:
        status = int(stop.code or 0)
    captured = capsys.readouterr()
    result = json.loads(out.read_text()) if out and out.exists() else None
    return Ran(status, captured.out, captured.err, result)


def table(rows: Mapping[str, str] | Sequence[tuple[str, str]], header: str = "| Item | Verdict | Note |") -> str:
    """Return an item table of these labels and verdict cells."""
    pairs = rows.items() if isinstance(rows, Mapping) else rows
    body = "".join(f"| {label} | {cell} | made up |\n" for label, cell in pairs)
    return f"{header}\n{'|---' * (header.count('|') - 1)}|\n{body}"


def score(rows: Mapping[str, str] | Sequence[tuple[str, str]], before: str = "", after: str = "") -> str:
    """Return a score file with one item table under its heading."""
    return f"{before}\n\n## Item by item\n\n{table(rows)}\n{after}\n"


def write(directory: Path, text: str | bytes, name: str = "score.md") -> str:
    """Write a file into a directory, made where missing, and return its path."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    return str(path)


def read(tmp_path: Path, text: str | bytes) -> KeyScore:
    """Return a key score from its text."""
    return read_key_score(write(tmp_path, text))


def words(read_score: KeyScore) -> dict[str, str]:
    """Return verdict words by item key."""
    return {key: item.verdict.value if item.verdict else "unknown" for key, item in read_score.items.items()}
