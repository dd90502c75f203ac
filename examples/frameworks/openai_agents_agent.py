"""The smallest agent with the OpenAI Agents SDK: `pip install openai-agents`.

pytest --soclab-agent-command "python examples/frameworks/openai_agents_agent.py" \\
    --soclab-agent-env OPENAI_API_KEY,MODEL
"""

import asyncio
import os
import sys

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from openai import AsyncOpenAI


async def main() -> None:
    set_tracing_disabled(True)
    async with MCPServerStreamableHttp(params={"url": os.environ["SOCLAB_MCP_URL"]}) as soc:
        model = OpenAIChatCompletionsModel(os.environ["MODEL"].removeprefix("openai:"), AsyncOpenAI())
        agent = Agent("analyst", model=model, mcp_servers=[soc])
        print((await Runner.run(agent, sys.stdin.read(), max_turns=60)).final_output)


asyncio.run(main())
