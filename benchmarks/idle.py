"""What the installed plugin costs a plain pytest run: 100 trivial tests with it and without it.

Run `python benchmarks/idle.py [--quick] [--pairs N]`. Instructions are counted by valgrind where it is installed.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

from common import Run, arguments, folder, instructions, pytest_command, row, run

HEAVY = ("pydantic", "scipy", "jinja2", "regopy", "ruamel", "opa_client", "jwt", "rfc8785", "markdown_it", "numpy")
TESTS = "import pytest\n\n@pytest.mark.parametrize('n', range(100))\ndef test_nothing(n):\n    assert n >= 0\n"
PROBE = f"""
import sys

def pytest_unconfigure():
    found = sorted({{name.partition(".")[0] for name in sys.modules}} & set({HEAVY!r}))
    print("heavy imports:", ", ".join(found) or "none")
"""


def plain(folder: Path, plugin: bool) -> Run:
    """Run the trivial tests."""
    return run(pytest_command("-q", "-p", "no:cacheprovider", plugin=plugin), folder)


def heavy_imports(folder: Path) -> str:
    """Return which of the heavy libraries a plain run imports."""
    (folder / "conftest.py").write_text(PROBE, encoding="utf-8")
    said = plain(folder, True).output
    (folder / "conftest.py").unlink()
    return said.partition("heavy imports: ")[2].splitlines()[0]


def counted(folder: Path) -> str:
    """Return how many per cent more instructions the plugin takes."""
    command = ("-q", "-p", "no:cacheprovider")
    without = instructions(pytest_command(*command, plugin=False), folder)
    if without is None:
        return "valgrind is not installed"
    with_it = instructions(pytest_command(*command), folder) or 0
    return f"{(with_it / without - 1) * 100:+.2f} % of {without / 1e6:.0f} million"


def main() -> None:
    """Print the comparison."""
    options = arguments(__doc__)
    with folder() as place:
        (place / "test_trivial.py").write_text(TESTS, encoding="utf-8")
        row("heavy libraries imported by a plain run", heavy_imports(place), "none")
        for name, pick in (("clock", lambda done: done.clock), ("processor", lambda done: done.cpu)):
            differences = []

            def one(plugin: bool, pick=pick) -> float:
                return float(pick(plain(place, plugin)))

            for turn in range(options.pairs * 2):
                first = one(bool(turn % 2))
                second = one(not turn % 2)
                differences.append((first - second) * (1000 if turn % 2 else -1000))
            row(f"plugin's share of a plain run, {name}", f"{median(differences):+.1f} ms", "at most 10 ms")
        row("more instructions with the plugin", counted(place), "at most 1 %")


if __name__ == "__main__":
    main()
