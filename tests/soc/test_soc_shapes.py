"""What a tool says of its results is what its results hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from test_soc_tools import GIVEN, GOOD

from core.support import red
from pytest_soclab.soc.build import Prepared
from pytest_soclab.soc.registry import Tool
from pytest_soclab.soc.servers import registry, servers, shapes, tables
from pytest_soclab.soc.world import World

FIELD = re.compile(r"[a-z_][a-z_0-9.]*")
SAYS_THE_SAME_AS_ANOTHER = {"siem.get_event", "cases.search_tickets"}
ONLY_OF_A_REPEAT = {"already"}
ASKED = {
    "siem.search": {"query": "*"}, "memory.recall": {"case": "{incident}"}, "cases.search_tickets": {"text": "a"},
    "network.dns_history": {"host": ""},
}  # fmt: skip


def keys_of(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of a result and of the records in its lists; what a field holds is the field's own."""
    for name, value in data.items():
        yield name
        for row in value if isinstance(value, list) else ():
            yield from row if isinstance(row, Mapping) else ()


def names_in(world: World) -> set[str]:
    every = [row for table in tables() for row in world.rows(table)]
    values = [value for row in every for value in row.values() if isinstance(value, str) and " " not in value]
    return {*values, *registry().tools}


def answers(tool: Tool, world: World, incident: str, names: set[str]) -> Iterator[Mapping[str, Any]]:
    required = tool.schema.get("required", [])
    given = ASKED.get(tool.name) or (
        {"host": ""} if tool.name == "network.dns_history" else dict.fromkeys(required, "")
    )
    for name in names if "" in given.values() else {""}:
        arguments = {key: (value or name).format(incident=incident) for key, value in given.items()}
        outcome = tool.run(world, tool.arguments.model_construct(**{**defaults(tool), **arguments}))
        if outcome.ok:
            yield outcome.data


def defaults(tool: Tool) -> dict[str, Any]:
    fields = tool.arguments.model_fields
    return {name: field.get_default() for name, field in fields.items() if not field.is_required()}


@pytest.fixture(scope="module")
def seen(prepared: Mapping[str, Prepared]) -> dict[str, set[str]]:
    """The keys of the results of every tool in every incident."""
    found: dict[str, set[str]] = {name: set() for name in registry().tools}
    for incident, name, arguments in GOOD:
        tool = registry().tools[name]
        outcome = tool.run(prepared[incident].world(GIVEN.get(incident)), tool.arguments.model_validate(arguments))
        found[name] |= set(keys_of(outcome.data))
    for incident, made in prepared.items():
        world = made.world({"memory.notes": [{"id": "n", "kind": "memory", "text": "t"}]})
        names = {name for name in names_in(world) if "{" not in name}
        for tool in registry().tools.values():
            for data in answers(tool, world, incident, names) if tool.change is None else ():
                found[tool.name] |= set(keys_of(data))
    return found


def check_tool(name: str, seen: Mapping[str, set[str]], returns: str) -> None:
    declared = set(FIELD.findall(returns))
    assert seen[name], name
    if name not in SAYS_THE_SAME_AS_ANOTHER | {"siem.search"}:
        assert seen[name] - ONLY_OF_A_REPEAT <= declared, (name, seen[name] - declared)
    if name in shapes.OWN and name not in SAYS_THE_SAME_AS_ANOTHER:
        beside = {"ms", "and", "where", "they", "apply", "id", "notes", "without", "bodies", "headers", "direction"}
        assert declared <= seen[name] | beside, (name, declared - seen[name])


@pytest.mark.parametrize("name", registry().tools)
def test_a_tool_says_what_its_results_hold(name: str, seen: Mapping[str, set[str]]) -> None:
    check_tool(name, seen, registry().tools[name].returns)


def test_a_wrong_shape_is_seen(seen: Mapping[str, set[str]]) -> None:
    red(check_tool, "identity.disable_account", seen, "{user, enabled}")
    red(check_tool, "identity.disable_account", seen, "{user, enabled, sessions_ended: [id], reason}")
    red(check_tool, "cases.get_ticket", seen, shapes.returns("cases.list_tickets", tables()))


def test_every_declared_shape_is_of_a_tool_and_stands_once() -> None:
    declared = [*shapes.LISTS, *shapes.RECORDS, *shapes.OWN]
    assert sorted(declared) == sorted(tool.name for server in servers() for tool in server.TOOLS)
