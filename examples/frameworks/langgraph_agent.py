"""The smallest agent with LangGraph: `pip install langgraph langchain langchain-mcp-adapters langchain-openai`.

pytest --soclab-agent-command "python examples/frameworks/langgraph_agent.py" --soclab-agent-env OPENAI_API_KEY,MODEL
"""

import asyncio
import os
import sys

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient


async def main() -> None:
    client = MultiServerMCPClient({"soc": {"transport": "streamable_http", "url": os.environ["SOCLAB_MCP_URL"]}})
    agent = create_agent(os.environ["MODEL"], await client.get_tools())
    result = await agent.ainvoke({"messages": [("user", sys.stdin.read())]}, {"recursion_limit": 60})
    print(result["messages"][-1].content)


asyncio.run(main())
