"""Run the known-answer commands from a checkout: `python scripts/benchmark/run.py score|gate|intel-off …`."""

import sys
from importlib.util import find_spec
from pathlib import Path

if find_spec("pytest_soclab") is None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from pytest_soclab.cli import main

sys.exit(main())
