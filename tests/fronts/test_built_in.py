"""The built-in loop, with the library's own model that is a function."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from core.support import CONTROL, Bench, of_type
from pytest_soclab.base.errors import UsageError
from pytest_soclab.base.settings import Settings
from pytest_soclab.evidence.results import Verdict
from pytest_soclab.fronts.built_in import BuiltIn
from pytest_soclab.fronts.configured import brought


def returned(messages: list[ModelMessage]) -> list[dict[str, Any]]:
    parts = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    return [json.loads(str(part.content)) for part in parts]


def work(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Read twice at once, act on what was found, and publish."""
    assert "identity_disable_account" in {tool.name for tool in info.function_tools}
    results = returned(messages)
    if not results:
        return ModelResponse([
            ToolCallPart("siem_search", {"query": "user:alex.rivera source:helpdesk"}),
            ToolCallPart("siem_search", {"query": "user:alex.rivera", "case": None}),
        ])  # fmt: skip
    evidence = results[1]["evidence"]
    if len(results) == 2:
        given = {"user": "alex.rivera", "reason": "account taken over", "cites": [evidence]}
        return ModelResponse([ToolCallPart("identity_disable_account", given)])
    if len(results) == 3:
        finding = {"case": "identity-compromise", "summary": "taken over", "verdict": "true_positive"}
        return ModelResponse([ToolCallPart("cases_publish_finding", finding)])
    return ModelResponse([TextPart("done")])


def loop(function: Any, template: str | None = None) -> BuiltIn:
    return BuiltIn("test:function", template, use=FunctionModel(function))


def test_the_loop_works_on_a_case(bench: Bench) -> None:
    outcome = bench.run(bench.unit(CONTROL), loop(work), timeout=60)
    assert outcome.judgement.verdict is Verdict.SERVED, outcome.cause
    tools = [p["tool"] for p in of_type(outcome.events, "proposal")]
    assert tools == ["siem.search", "siem.search", "identity.disable_account", "cases.publish_finding"]


def test_a_loop_that_goes_in_a_circle_is_ended(bench: Bench) -> None:
    def circle(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse([ToolCallPart("siem_search", {"query": "user:alex.rivera"})])

    outcome = bench.run(bench.base, loop(circle), timeout=60)
    assert outcome.judgement.verdict is Verdict.INCONCLUSIVE
    assert "UsageLimitExceeded" in outcome.cause


def test_the_prompt_can_be_replaced_and_fills_its_fields_once(bench: Bench) -> None:
    seen: list[str] = []

    def look(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(str(messages[0].parts[0].content))  # type: ignore[union-attr]
        return ModelResponse([TextPart("done")])

    bench.run(bench.base, loop(look, "Case {incident}, publish with {publish}; {unknown} {goal}"), timeout=60)
    goal = bench.base.case().goal
    assert seen == [f"Case identity-compromise, publish with cases_publish_finding; {{unknown}} {goal}"]


def test_the_option_makes_the_loop(tmp_path: Any) -> None:
    (tmp_path / "p.txt").write_text("Work on {incident}")
    made = brought(Settings(model="openai:gpt-4o-mini", prompt="p.txt"), tmp_path)
    assert made == BuiltIn("openai:gpt-4o-mini", "Work on {incident}")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": "gpt-4o"}, "expected PROVIDER:NAME"),
        ({"model": "openai:x", "agent_url": "http://x/"}, "name two agents"),
        ({"model": "openai:x", "prompt": "none.txt"}, "none.txt cannot be read"),
        ({"model": "openai:x", "agent_user": "nobody"}, "belongs to a command"),
        ({"prompt": "p.txt"}, "belongs to an agent that the options name"),
    ],
)
def test_wrong_options_are_said(tmp_path: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        brought(Settings(**given), tmp_path)
