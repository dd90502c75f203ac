"""One lab and one policy engine for every test here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.support import Bench
from pytest_soclab.base.settings import Settings
from pytest_soclab.trials.lab import Lab


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """The standard vocabulary and the bundled policy in its embedded engine."""
    lab = Lab(Settings())
    yield lab
    lab.close()


@pytest.fixture(scope="session")
def bench(lab: Lab) -> Bench:
    """Makes units, enforcement points and outcomes out of a few words."""
    return Bench(lab)
