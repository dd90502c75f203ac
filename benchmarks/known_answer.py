"""Measure the known-answer gate: 1,000 score files in one gate, growth with file size, a report of 5 MB.

Run `python benchmarks/known_answer.py`; it prints seconds, CPU seconds and peak memory of fresh processes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ITEMS = [f"K{1 + index // 8}.{1 + index % 8} fact number {index} of the key" for index in range(57)]
WORDS = ("found", "partly (body)", "partly (dump)", "missed", "wrong")


def score_file(seed: int, items: list[str] = ITEMS) -> str:
    """Return a score file of these items, with a Totals line and nine facts beyond."""
    words = [WORDS[(index * 7 + seed) % 11 % 5] for index in range(len(items))]
    totals = " / ".join(f"{words.count(word)} {word}" for word in WORDS)
    rows = "".join(
        f'| {item} | {word} | found | `code` and **emphasis**, "quoted text of the report" [ev_{index:04}] |\n'
        for index, (item, word) in enumerate(zip(items, words, strict=True))
    )
    beyond = "".join(f"{number}. A fact that the reports lack.\n" for number in range(1, 10))
    return (
        f"# Score: run{seed}\n\n**Totals:** {totals}\n\n## Item by item\n\n"
        f"| # | this | other | Report |\n|---|---|---|---|\n{rows}"
        f"\n## Beyond the human reports\n\n{beyond}\n**9 facts more than the human analyst.**\n"
    )


def measure(title: str, *arguments: str) -> None:
    """Run `soclab` in a fresh process and print its time and its peak memory."""
    start = time.perf_counter()
    script = "import sys, resource; from pytest_soclab.cli.main import main; status = main(sys.argv[1:]); " + (
        "used = resource.getrusage(resource.RUSAGE_SELF); "
        "sys.stderr.write(f'{used.ru_utime + used.ru_stime} {used.ru_maxrss}'); sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    factor = 1024 if sys.platform == "linux" else 1
    cpu, peak = done.stderr.split()[-2:] if done.returncode < 2 else ("0", "0")
    megabytes = int(peak) * factor / 2**20
    trouble = done.stderr[:80] if done.returncode > 1 else ""
    print(
        f"{title:46} {seconds:6.2f} s  {float(cpu):6.2f} s cpu  {megabytes:6.0f} MB  exit {done.returncode} {trouble}"
    )


def main() -> None:
    """Write the inputs into a temporary directory and measure each command on them."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        paths = [write(root / f"run{index}" / "score.md", score_file(index)) for index in range(1000)]
        measure("gate, 500 + 500 files of 57 items", "gate", "--baseline", *paths[:500], "--candidate", *paths[500:])
        for count in (1_000, 10_000, 100_000):
            items = [f"K{index // 1000}.{index % 1000} a label of ordinary length" for index in range(count)]
            path = write(root / f"big{count}" / "score.md", score_file(1, items))
            measure(f"score, {count} items, {Path(path).stat().st_size / 2**20:.1f} MB", "score", path)
        path = write(root / "report" / "score.md", score_file(1))
        prose = "Some sentence of prose that goes on for a while [ev_0001]. Another one that closes [ev_0002].\n\n"
        write(root / "report" / "report.md", prose * 52_000 + "Here quoted text of the report stands [ev_0003].\n")
        entries = [{"id": f"ev_{index:04}", "kind": "static_analysis", "ok": True} for index in range(10_000)]
        write(root / "report" / "evidence.json", json.dumps(entries))
        measure("score beside a report of 5 MB", "score", path)


def write(path: Path, text: str) -> str:
    """Write a file with its directory and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


if __name__ == "__main__":
    main()
