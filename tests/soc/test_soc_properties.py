"""Whatever arguments come: a tool answers, the same each time, and never touches the shared base."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pytest_soclab.soc.registry import Outcome
from pytest_soclab.soc.servers import registry

TOOLS = sorted(registry().tools)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
relaxed = settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def pool(prepared):
    """Values that mean something: keys of every incident, enumerations, times, queries."""
    keys = {key for p in prepared.values() for rows in p.base.tables.values() for key in rows}
    more = [
        "any",
        "active",
        "true_positive",
        "duplicate",
        "low",
        "+1h",
        "+99999999s",
        "2026-03-02T09:00:00Z",
        "a@b.example",
    ]
    more += ["0.0.0.0/0", "::/0", "user:alex.rivera", "a OR", '"', "*", "identity-compromise", "x" * 256]
    return sorted(keys) + more


def _plausible(draw, pool, tool):
    scalar = st.sampled_from(pool) | st.integers(0, 60) | st.text(max_size=10)
    value = scalar | st.lists(scalar, max_size=6) | JSON
    value |= st.lists(st.fixed_dictionaries({"text": scalar, "evidence": st.lists(scalar, max_size=3)}), max_size=2)
    fields = tool.arguments.model_fields
    needed = [name for name in fields if fields[name].is_required()]
    optional = draw(st.lists(st.sampled_from(sorted(fields)), max_size=3)) if fields else []
    return {name: draw(scalar if fields[name].annotation is str else value) for name in {*needed, *optional}}


@relaxed
@given(data=st.data())
def test_plausible_arguments_are_answered(data, pool, prepared):
    tool = registry().tools[data.draw(st.sampled_from(TOOLS))]
    raw = _plausible(data.draw, pool, tool)
    _check(tool, raw, prepared[data.draw(st.sampled_from(sorted(prepared)))])


@relaxed
@given(name=st.sampled_from(TOOLS), raw=st.dictionaries(st.text(max_size=10), JSON, max_size=4))
def test_any_json_is_answered_or_refused(name, raw, prepared):
    tool = registry().tools[name]
    tool.aims(raw)
    tool.attempts(raw)
    _check(tool, raw, prepared["identity-compromise"])


def _check(tool, raw, prepared):
    try:
        arguments = tool.arguments.model_validate(raw)
    except ValidationError:
        return
    base = prepared.base.snapshot()
    worlds = [prepared.world(), prepared.world()]
    outcomes = [tool.run(world, arguments) for world in worlds]
    assert outcomes[0] == outcomes[1]
    assert isinstance(outcomes[0], Outcome)
    assert worlds[0].snapshot() == worlds[1].snapshot()
    assert prepared.base.snapshot() == base
    _check_outcome(tool, raw, outcomes[0], changed=worlds[0].snapshot() != base)


def _check_outcome(tool, raw, outcome, *, changed):
    json.dumps(outcome.data)
    assert outcome.ok == (outcome.error == "")
    assert bool(outcome.changes) == changed
    assert set(outcome.changes) <= set(tool.attempts(raw))


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_many_calls_on_a_fork_leave_the_base_alone(data, pool, prepared):
    chosen = prepared[data.draw(st.sampled_from(sorted(prepared)))]
    base, world = chosen.base.snapshot(), chosen.world()
    for _ in range(data.draw(st.integers(1, 12))):
        tool = registry().tools[data.draw(st.sampled_from([name for name in TOOLS if registry().tools[name].change]))]
        try:
            arguments = tool.arguments.model_validate(_plausible(data.draw, pool, tool))
        except ValidationError:
            continue
        tool.run(world, arguments)
    assert chosen.base.snapshot() == base
    assert chosen.world().snapshot() == base
