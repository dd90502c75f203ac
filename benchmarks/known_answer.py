"""Measure the known-answer gate: 1,000 score files in one gate, growth with file size, 50 MB of a table and of JSON.

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
FIFTY = 50 * 2**20 - 2**12
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
    cpu, peak = done.stderr.split()[-2:]
    megabytes = int(peak) * factor / 2**20
    trouble = done.stderr.split(": ", 1)[-1].split("\n")[0] if done.returncode > 1 else ""
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
        measure_largest(root)


def measure_largest(root: Path) -> None:
    """Measure files of just under 50 MB: some are read, some are refused with the limit named."""
    head = "## Item by item\n\n| # | Score | Report |\n|---|---|---|\n"
    quoted = (
        '| K{}.{} a label of ordinary length | found | `code` and **marks**, "quoted text of the report" [ev_0001] |\n'
    )
    measure("score, a table of 50 MB", "score", fill(root / "table" / "score.md", quoted, head))
    measure(
        "score, a table of 50 MB, its rows tiny", "score", fill(root / "tiny" / "score.md", "|K{}.{}|found||\n", head)
    )
    opened = '{"format": "calibration-score/1", "run": "r", "facts": [{"id": "F", "verdict": "found"}'
    note = "a sentence on what the report says, of ordinary length"
    for name, text in (("", note), (", its values tiny", "")):
        fact = f', {{{{"id": "F{{}}.{{}}", "verdict": "found", "note": "{text}", "evidence": ["ev_0001"]}}}}'
        path = fill(root / "json" / f"score{len(text)}.json", fact, opened, "]}")
        measure(f"score, 50 MB of JSON{name}", "score", path)
    measure("score, 50 MB of CSV", "score", fill(root / "rows.csv", "K{}.{} label,found\n", "item,verdict\n"))


def fill(path: Path, row: str, head: str, foot: str = "") -> str:
    """Write a file of just under 50 MB, whose rows have numbers of their own, and return its path.

    It is never held in memory: a process that is started counts what its parent held as its own.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as stream:
        stream.write(head)
        size = number = 0
        while size < FIFTY:
            size += stream.write(row.format(number // 1000, number % 1000))
            number += 1
        stream.write(foot)
    return str(path)


def write(path: Path, text: str) -> str:
    """Write a file with its directory and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


if __name__ == "__main__":
    main()
