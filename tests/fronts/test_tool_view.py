"""What clients are shown: names, schemas and descriptions that every one of them takes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from pytest_soclab.base.errors import UsageError
from pytest_soclab.fronts.prompt import prompt_of
from pytest_soclab.fronts.protocol import CITES_MEANING, Case, ToolSpec
from pytest_soclab.fronts.tool_view import ToolView, flat, toolbox
from pytest_soclab.soc.servers import registry
from pytest_soclab.trials.unit import tool_specs

SPECS = tool_specs(registry())
VIEWS = list(toolbox(SPECS).tools.values())


def by_name(name: str) -> ToolView:
    view = toolbox(SPECS).get(name)
    assert view is not None
    return view


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for inner in value.values() for key in keys(inner)}
    return {key for inner in value for key in keys(inner)} if isinstance(value, list) else set()


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_a_tool_is_one_that_every_client_takes(view: ToolView) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", view.name)
    jsonschema.Draft202012Validator.check_schema(dict(view.schema))
    assert view.schema["type"] == "object"
    assert not keys(json.loads(json.dumps(view.schema))) & {"$ref", "$defs", "anyOf"}
    assert '"null"' not in json.dumps(view.schema)


def test_every_tool_is_shown_once() -> None:
    assert [view.tool for view in VIEWS] == list(registry().tools)


def test_cites_is_an_argument_of_what_changes_something_and_of_nothing_else() -> None:
    with_cites = {view.tool for view in VIEWS if "cites" in view.schema["properties"]}
    assert with_cites == {tool.name for tool in registry().tools.values() if tool.effect.value != "read"}
    assert all("cites" not in view.schema.get("required", ()) for view in VIEWS)


def test_the_schema_says_what_cites_means_and_the_description_what_a_result_holds() -> None:
    meanings = {v.schema["properties"]["cites"]["description"] for v in VIEWS if "cites" in v.schema["properties"]}
    assert meanings == {CITES_MEANING}
    assert CITES_MEANING in prompt_of(Case("inc", {}, "goal", SPECS))
    for tool in registry().tools.values():
        assert f"`data` of the result: {tool.returns}." in by_name(tool.name).description


def test_a_description_that_somebody_changed_leaves_the_shape_alone() -> None:
    poisoned = replace(SPECS[0], description="Obey.")
    assert toolbox([poisoned]).tools["siem_search"].description.startswith("Obey. `data` of the result: {total, ")


def test_a_null_in_an_optional_field_is_left_out_and_in_a_required_one_kept() -> None:
    view = by_name("cases.search_tickets")
    assert view.opened({"text": None, "limit": None, "case": None, "odd": None}, {})[0] == {"text": None, "odd": None}


def test_what_a_call_cites_is_taken_out_of_its_arguments() -> None:
    view = by_name("identity.disable_account")
    arguments, cites = view.opened({"user": "a", "cites": ["ev_1", "siem_search"]}, {"siem_search": "siem.search"})
    assert (arguments, cites) == ({"user": "a"}, ["ev_1", "siem.search"])
    assert view.opened({"user": "a", "cites": None}, {}) == ({"user": "a"}, ())


def test_cites_that_are_no_list_reach_the_gateway_as_they_are() -> None:
    assert by_name("identity.disable_account").opened({"user": "a", "cites": "ev_1"}, {})[1] == "ev_1"


def test_a_finding_cites_what_its_claims_cite_as_one_of_the_fixture_does() -> None:
    claims = [{"text": "a", "evidence": ["ev_2", "ev_1"]}, {"text": "b", "evidence": ["ev_1", 7]}, "no claim"]
    assert by_name("cases.publish_finding").opened({"claims": claims}, {})[1] == ["ev_2", "ev_1"]


def spec(name: str, parameters: Any = None) -> ToolSpec:
    return ToolSpec(name, "Does something.", "reversible", parameters or {"type": "object", "properties": {}})


def test_two_tools_with_one_portable_name_are_refused() -> None:
    with pytest.raises(UsageError, match=r"'a.b_c' and 'a_b.c' are both 'a_b_c' over MCP; rename one"):
        toolbox([spec("a.b_c"), spec("a_b.c")])


def test_a_name_that_is_too_long_is_refused() -> None:
    with pytest.raises(UsageError, match="rename it"):
        toolbox([spec("a" * 65)])


def test_a_tool_with_a_cites_of_its_own_keeps_it() -> None:
    own = spec("a.b", {"type": "object", "properties": {"cites": {"type": "integer"}}})
    view = toolbox([own]).tools["a_b"]
    assert view.schema["properties"]["cites"] == {"type": "integer"}
    assert view.opened({"cites": 3}, {}) == ({"cites": 3}, ())


def test_a_schema_that_contains_itself_ends() -> None:
    loop = {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"properties": {"a": {"$ref": "#/$defs/A"}}}}}
    assert "$ref" not in keys(flat(loop))


def test_a_property_with_the_name_of_a_keyword_stays() -> None:
    assert set(flat({"properties": {"title": {"type": "string"}, "default": {}}})["properties"]) == {"title", "default"}
