"""The frameworks that the examples are written with: what each needs, and how it is told of its model.

`python -m fronts.frameworks NAME` says which versions an example was tried with, `--forget` has the environments made
anew at their next use, with the newest packages.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass

from .environments import forget, python_with

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


def versions(name: str) -> str:
    """Return the installed versions of the packages that an example names, in its own environment."""
    packages = FRAMEWORKS[name].packages
    listed = [str(python_with(*packages)), "-m", "pip", "list", "--format=json", "--disable-pip-version-check"]
    found = json.loads(subprocess.run(listed, check=True, capture_output=True).stdout)
    known = {one["name"].lower().replace("_", "-"): one["version"] for one in found}
    own = dict.fromkeys(package.partition("[")[0] for package in (*packages, "mcp"))
    return ", ".join(f"{package} {known[package]}" for package in own if package in known)


if __name__ == "__main__":
    if sys.argv[1] == "--forget":
        for framework in FRAMEWORKS.values():
            forget(*framework.packages)
    else:
        print(versions(sys.argv[1]))
