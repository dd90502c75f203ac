"""Whatever arguments come: a tool answers, the same each time, and never touches the shared base."""

from __future__ import annotations

import json

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


MORE = [
    "any",
    "+1h",
    "+99999999s",
    "2026-03-02T09:00:00Z",
    "a@b.example",
    "0.0.0.0/0",
    "::/0",
    "user:alex.rivera",
    "a OR",
]


def _texts(world, tool):
    """Texts that mean something: mostly keys of the tool's own tables, else any key, else anything."""
    own = [key for name, rows in world.tables.items() if name.startswith(tool.server) for key in rows]
    every = [key for rows in world.tables.values() for key in rows]
    return (
        st.sampled_from(own or every)
        | st.sampled_from([*every, *MORE, *world.charter.scope["address"]])
        | st.text(max_size=8)
    )


def _fitting(schema, root, texts):
    """A strategy of values that mostly fit a schema as pydantic writes it."""
    if "$ref" in schema:
        return _fitting(root["$defs"][schema["$ref"].rpartition("/")[2]], root, texts)
    if "anyOf" in schema:
        return st.one_of(*(_fitting(inner, root, texts) for inner in schema["anyOf"]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema.get("type") == "object":
        return st.fixed_dictionaries({n: _fitting(inner, root, texts) for n, inner in schema["properties"].items()})
    if schema.get("type") == "array":
        return st.lists(_fitting(schema["items"], root, texts), min_size=schema.get("minItems", 0), max_size=4)
    return {"integer": st.integers(0, 52), "null": st.none()}.get(schema.get("type"), texts)


def _plausible(draw, world, tool):
    texts, fields = _texts(world, tool), tool.schema.get("properties", {})
    chosen = {
        *tool.schema.get("required", []),
        *draw(st.sets(st.sampled_from(sorted(fields)), max_size=3) if fields else st.just(())),
    }
    return {name: draw(_fitting(fields[name], tool.schema, texts)) for name in sorted(chosen)}


@relaxed
@given(data=st.data())
def test_plausible_arguments_are_answered(data, prepared):
    tool = registry().tools[data.draw(st.sampled_from(TOOLS))]
    chosen = prepared[data.draw(st.sampled_from(sorted(prepared)))]
    _check(tool, _plausible(data.draw, chosen.base, tool), chosen)


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
def test_many_calls_on_a_fork_leave_the_base_alone(data, prepared):
    chosen = prepared[data.draw(st.sampled_from(sorted(prepared)))]
    base, world = chosen.base.snapshot(), chosen.world()
    for _ in range(data.draw(st.integers(1, 12))):
        tool = registry().tools[data.draw(st.sampled_from([name for name in TOOLS if registry().tools[name].change]))]
        try:
            arguments = tool.arguments.model_validate(_plausible(data.draw, world, tool))
        except ValidationError:
            continue
        tool.run(world, arguments)
    assert chosen.base.snapshot() == base
    assert chosen.world().snapshot() == base
