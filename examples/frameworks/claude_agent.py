"""The smallest agent with the Claude Agent SDK: `pip install claude-agent-sdk`; nothing but configuration.

pytest --soclab-agent-command "python examples/frameworks/claude_agent.py" --soclab-agent-env ANTHROPIC_API_KEY,MODEL
"""

import asyncio
import os
import sys

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

options = ClaudeAgentOptions(
    model=os.environ["MODEL"],
    mcp_servers={"soc": {"type": "http", "url": os.environ["SOCLAB_MCP_URL"]}},
    tools=[],
    allowed_tools=["mcp__soc"],
    setting_sources=[],
    max_turns=60,
)


async def main() -> None:
    async for message in query(prompt=sys.stdin.read(), options=options):
        if isinstance(message, ResultMessage):
            print(message.result)


asyncio.run(main())
