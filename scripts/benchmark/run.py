"""Run the known-answer commands from a checkout: `python scripts/benchmark/run.py score|gate|intel-off …`."""

import sys
from importlib.util import find_spec
from pathlib import Path

installed = find_spec("pytest_soclab")
if installed is None or installed.origin is None:  # a directory without __init__.py is no package
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from pytest_soclab.cli.main import main  # noqa: E402  the path has to be set first

sys.exit(main())
