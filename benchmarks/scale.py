"""How a session grows: 1,000 trials beside 10,000 of the bundled corpus.

Run `python benchmarks/scale.py [--quick] [--pairs N]`; `--quick` compares 250 with 2,500 trials, once. Memory is the
difference of the peaks. Each session writes everything that it always writes.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from common import Run, arguments, folder, pytest_command, row, run

from pytest_soclab.base import resources

PROBE = """
import time
from pytest_soclab.trials import lab
from pytest_soclab.session import recorder
spent, asked = [0.0], []
write, self_check = recorder.Recorder._write_report, lab.self_check

def _write_report(self, results):
    started = time.process_time()
    write(self, results)
    spent[0] += time.process_time() - started

def counted(unit, *rest):
    asked.append((unit.scenario.id, unit.variant))
    return self_check(unit, *rest)

recorder.Recorder._write_report, lab.self_check = _write_report, counted

def pytest_unconfigure():
    print(f"probe: {spent[0]} {len(asked)} {len(set(asked))}")
"""


@dataclass(frozen=True)
class Session:
    """One session's figures."""

    run: Run
    trials: int
    report: int
    writing: float
    witnesses: int
    units: int


def session(place: Path, repeat: int, wanted: int) -> Session:
    """Run the corpus that many times over, which must be at least the wanted number of trials."""
    artifacts = place / "artifacts"
    shutil.rmtree(artifacts, ignore_errors=True)
    (place / "probe.py").write_text(PROBE, encoding="utf-8")
    words = (
        "-p",
        "probe",
        "-p",
        "no:cacheprovider",
        "-q",
        f"--soclab-repeat={repeat}",
        f"--soclab-artifacts={artifacts}",
    )
    command = pytest_command(*words, str(place / "scenarios"))
    done = run(command, place, accepted=(0, 1))
    spent, witnesses, units = done.output.rpartition("probe: ")[2].split()[:3]
    trials = sum(1 for _ in (artifacts / "trials.jsonl").open("rb"))
    size = (artifacts / "report.html").stat().st_size
    assert trials >= wanted, done.output[-2000:]
    return Session(done, trials, size, float(spent), int(witnesses), int(units))


def main() -> None:
    """Print the comparison."""
    options = arguments(__doc__)
    small, large = (250, 2_500) if options.quick else (1_000, 10_000)
    with folder() as place:
        shutil.copytree(resources.scenarios(), place / "scenarios")
        units = session(place, 1, 1).trials
        pairs = []
        for _ in range(1 if options.quick else options.pairs):
            first = session(place, -(-small // units), small)
            second = session(place, -(-large // units), large)
            pairs.append((first, second))
            cpu = f"{first.run.cpu:.1f} and {second.run.cpu:.1f} s cpu"
            row(f"  {first.trials} and {second.trials} trials", cpu, f"clock {second.run.clock / first.run.clock:.2f}")
        report(pairs)


def report(pairs: list[tuple[Session, Session]]) -> None:
    """Print the table; growth is scaled to ten times as many trials."""
    ten = median(a.trials * 10 / b.trials for a, b in pairs)
    row(
        "clock, ten times as many trials",
        f"{median(b.run.clock / a.run.clock for a, b in pairs) * ten:.2f} times",
        "at most 11",
    )
    row("processor, ten times as many trials", f"{median(b.run.cpu / a.run.cpu for a, b in pairs) * ten:.2f} times")
    memory = median((b.run.peak - a.run.peak) / (b.trials - a.trials) for a, b in pairs)
    row("memory of one more trial", f"{memory:.1f} KB", "at most 20 KB")
    large = pairs[-1][1]
    row("self-checks / units of the large session", f"{large.witnesses} / {large.units}", "once a unit")
    for one in pairs[-1]:
        limit = 300_000 + 2_000 * one.trials
        row(f"report of {one.trials} trials", f"{one.report / 1000:.0f} KB", f"at most {limit / 1000:.0f} KB")
        share = median(s.writing / s.run.cpu for pair in pairs for s in pair if s.trials == one.trials)
        row("  its share of the run", f"{share * 100:.1f} %", "at most 5 %")


if __name__ == "__main__":
    main()
