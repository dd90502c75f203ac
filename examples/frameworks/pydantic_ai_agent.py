"""The smallest agent with pydantic-ai: `pip install 'pydantic-ai-slim[openai,mcp]'`.

pytest --soclab-agent-command "python examples/frameworks/pydantic_ai_agent.py" --soclab-agent-env OPENAI_API_KEY,MODEL
"""

import os
import sys

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset

agent = Agent(os.environ["MODEL"], toolsets=[MCPToolset(os.environ["SOCLAB_MCP_URL"])])
print(agent.run_sync(sys.stdin.read()).output)
