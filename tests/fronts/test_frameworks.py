"""The examples, each in an environment of its own, against a model that is a script.

Two of them are large. They are here all the same: what nobody runs does not work.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from core.support import CONTROL, Bench, of_type
from pytest_soclab.evidence.results import Verdict
from pytest_soclab.fronts.outside import CommandAgent

from .environments import python_with
from .scripted_model import DONE, model

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "frameworks"
KEY = "sk-none-0123456789"


@dataclass(frozen=True)
class Framework:
    """What an example needs: its packages, and how it is told of its model."""

    packages: tuple[str, ...]
    model: str
    address: str
    key: str
    path: str = ""

    def variables(self, upstream: str) -> dict[str, str]:
        return {self.address: upstream + self.path, self.key: KEY, "MODEL": self.model}


OPENAI = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "/v1")
LANGCHAIN = ("langgraph", "langchain", "langchain-mcp-adapters", "langchain-openai")
FRAMEWORKS = {
    "pydantic_ai_agent.py": Framework(("pydantic-ai-slim[openai,mcp]",), "openai-chat:gpt-4o-mini", *OPENAI),
    "langgraph_agent.py": Framework(LANGCHAIN, "openai:gpt-4o-mini", *OPENAI),
    "openai_agents_agent.py": Framework(("openai-agents",), "openai:gpt-4o-mini", *OPENAI),
    "google_adk_agent.py": Framework(
        ("google-adk[mcp]",), "gemini-2.5-flash", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_API_KEY"
    ),
    "claude_agent.py": Framework(("claude-agent-sdk",), "claude-sonnet-4-5", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
}


def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(FRAMEWORKS)


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_an_example_works_on_a_case_unchanged(bench: Bench, name: str) -> None:
    framework = FRAMEWORKS[name]
    with model() as address:
        command = (str(python_with(*framework.packages)), str(EXAMPLES / name))
        outcome = bench.run(bench.unit(CONTROL), CommandAgent(command, name, framework.variables(address)), timeout=180)
    (annex,) = of_type(outcome.events, "annex")
    assert outcome.judgement.verdict is Verdict.SERVED, (outcome.cause, annex["stderr"]["end"][-3000:])
    assert [p["tool"] for p in of_type(outcome.events, "proposal")] == [
        "siem.search", "siem.search", "identity.disable_account", "cases.publish_finding",
    ]  # fmt: skip
    assert annex["note"].endswith(DONE)
