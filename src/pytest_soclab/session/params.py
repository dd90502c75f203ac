"""Refuses fixtures with params: pytest knows them for Python functions alone, and a session tests one agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_soclab.base.errors import UsageError
from pytest_soclab.trials.lab import Lab


def runs_once(lab: Lab, item: pytest.Function) -> bool:
    """Tell whether none of an item's fixtures has params, for which pytest makes items of Python functions alone.

    Raises:
        UsageError: at the first file of a session; the others have nothing to add to it.
    """
    closure = item._fixtureinfo.name2fixturedefs
    found = next((made[-1] for made in closure.values() if made and made[-1].params is not None), None)
    if found is None:
        return True
    if lab.several:
        return False
    lab.several = True
    code = getattr(found.func, "__code__", None)  # a fixture may be any callable
    place = f"{Path(code.co_filename).name}:{code.co_firstlineno}: " if code else ""
    number = len(found.params or ())
    what = f"{place}the fixture {found.argname!r} has {number} params, expected none: a session tests one agent"
    raise UsageError(f"{what}; read the choice from an option or the environment, and run pytest once for each")
