from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_soclab.soc.times import is_moment, moment_of, offset_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("+42m", 2520),
        ("+1h5m", 3900),
        ("+30s", 30),
        ("+2h", 7200),
        ("-3d", -259_200),
        ("+1d2h3m4s", 93_784),
        ("+0s", 0),
    ],
)
def test_an_offset_counts_seconds(text, seconds):
    assert offset_of(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "+", "42m", "+1m10.5s", "+5", "+1s2m", "+1:05", "+m", "++1m", "+١m", "+1h ", "now"]
)
def test_what_is_no_offset_is_refused(text):
    with pytest.raises(ValueError, match="no offset"):
        offset_of(text)


def test_a_moment_is_an_offset_or_an_absolute_time():
    start = moment_of("2026-03-02T08:00:00Z", 0)
    assert moment_of("+1h", start) == start + 3600
    assert moment_of(datetime(2026, 3, 2, 9, tzinfo=UTC), 0) == start + 3600
    assert moment_of(datetime(2026, 3, 2, 9), 0) == start + 3600


@given(st.one_of(st.text(max_size=30), st.integers(), st.floats(), st.none(), st.booleans(), st.lists(st.text())))
def test_any_value_is_a_moment_or_refused_without_another_error(value):
    assert is_moment(value) in (True, False)
