"""The names by which callers outside know the package still lead where they led."""

from __future__ import annotations

import pytest_soclab
from pytest_soclab import errors
from pytest_soclab.base import errors as base
from pytest_soclab.known_answer import key_score
from pytest_soclab.known_answer.reading.key_score import read_key_score
from pytest_soclab.reading.yaml_source import parse
from pytest_soclab.scenario import yaml_source


def test_every_error_of_ours_can_be_caught_by_its_public_name() -> None:
    ours = {name for name, value in vars(base).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert ours | {"Fault"} == set(errors.__all__)
    assert all(getattr(errors, name) is getattr(base, name) for name in errors.__all__)


def test_the_readers_stand_at_their_old_names() -> None:
    assert yaml_source.parse is parse
    assert key_score.read_key_score is read_key_score


def test_a_name_that_is_not_public_is_no_attribute() -> None:
    assert not hasattr(pytest_soclab, "parse")
