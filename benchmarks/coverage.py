"""How often the intervals hold the true rate, where the trials of one scenario are more alike than those of two.

Run `python benchmarks/coverage.py [--quick]`. Each scenario has a rate of its own, drawn from a beta distribution with
the true rate as its mean; the intraclass correlation says how far the rates of scenarios lie apart (0: all the same, 1:
each scenario always or never succeeds). The seed is fixed, so two runs give the same table.

`decided` is what a level rests on: the upper end over scenarios, a scenario being a success if one of its trials was;
the exact one for live agents, Wilson's for scripted ones. It has to lie above the true rate. `shown` is the two-sided
Korn–Graubard interval over all trials; it has to hold the true rate. `naive` is Wilson's over single trials, as if they
knew nothing of each other.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

from pytest_soclab.assurance.intervals import clopper_pearson, korn_graubard, wilson

CORRELATIONS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
RATES = (0.02, 0.05, 0.10, 0.20)
SIZES = ((10, 3), (20, 3), (20, 10), (71, 1), (71, 3), (71, 10))
"""Scenarios, and trials of each."""
SEED, DRAWS = 20_26, 4_000

Row = tuple[int, ...]
Holds = Callable[[Row, int, float], bool]


def draws(rate: float, correlation: float, scenarios: int, trials: int, number: int) -> list[Row]:
    """Return for each of `number` sessions how many trials of each scenario succeeded."""
    import numpy

    random = numpy.random.default_rng([SEED, int(rate * 1000), int(correlation * 1000), scenarios, trials])
    size = (number, scenarios)
    if correlation == 0:
        own: Any = numpy.full(size, rate)
    elif correlation == 1:
        own = (random.random(size) < rate).astype(float)
    else:
        spread = (1 - correlation) / correlation
        own = random.beta(rate * spread, (1 - rate) * spread, size)
    return [tuple(row) for row in random.binomial(trials, own).tolist()]


_exact, _wilson = lru_cache(None)(clopper_pearson), lru_cache(None)(wilson)


@lru_cache(None)
def _clustered(ends: Row, trials: int) -> tuple[float, float]:
    return korn_graubard([(hits, trials) for hits in ends])


def _lost(row: Row) -> int:
    return sum(hits > 0 for hits in row)


def live(row: Row, trials: int, rate: float) -> bool:
    """Tell whether the bound that decides on a live agent lies above the true rate."""
    return _exact(_lost(row), len(row))[1] >= rate


def scripted(row: Row, trials: int, rate: float) -> bool:
    """Tell whether the bound that decides on scripted trials lies above the true rate."""
    return _wilson(_lost(row), len(row))[1] >= rate


def shown(row: Row, trials: int, rate: float) -> bool:
    """Tell whether the interval beside the trials holds the true rate."""
    low, high = _clustered(tuple(sorted(row)), trials)
    return low <= rate <= high


def naive(row: Row, trials: int, rate: float) -> bool:
    """Tell whether Wilson's interval over single trials holds the true rate."""
    low, high = _wilson(sum(row), len(row) * trials)
    return low <= rate <= high


ESTIMATORS: Mapping[str, Holds] = {
    "decided, live": live,
    "decided, scripted": scripted,
    "shown": shown,
    "naive": naive,
}


def coverage(holds: Holds, size: tuple[int, int], rate: float, correlation: float, number: int = DRAWS) -> float:
    """Return in which share of the sessions an interval does what it has to."""
    scenarios, trials = size
    sessions = draws(rate, correlation, scenarios, trials, number)
    return sum(holds(row, trials, rate) for row in sessions) / number


def worst(holds: Holds, size: tuple[int, int], number: int = DRAWS) -> float:
    """Return the least coverage over all correlations and rates."""
    return min(coverage(holds, size, rate, correlation, number) for correlation, rate in product(CORRELATIONS, RATES))


def table(sizes: Sequence[tuple[int, int]] = SIZES, number: int = DRAWS) -> Iterator[str]:
    """Yield the worst coverage of each estimator by size as lines of Markdown."""
    yield "| scenarios × trials | " + " | ".join(ESTIMATORS) + " |"
    yield "| --- |" + " --- |" * len(ESTIMATORS)
    for size in sizes:
        cells = (f"{worst(holds, size, number):.1%}".replace("%", " %") for holds in ESTIMATORS.values())
        yield f"| {size[0]} × {size[1]} | " + " | ".join(cells) + " |"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer sessions, for a first look")
    number = DRAWS // 10 if parser.parse_args().quick else DRAWS
    for line in table(number=number):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
