"""The smallest agent with Google's ADK: `pip install 'google-adk[mcp]'`.

pytest --soclab-agent-command "python examples/frameworks/google_adk_agent.py" --soclab-agent-env GOOGLE_API_KEY,MODEL
"""

import asyncio
import os
import sys

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams
from google.genai import types


async def main() -> None:
    soc = McpToolset(connection_params=StreamableHTTPConnectionParams(url=os.environ["SOCLAB_MCP_URL"]))
    agent = LlmAgent(name="analyst", model=os.environ["MODEL"], tools=[soc])
    runner = InMemoryRunner(agent=agent, app_name="soclab")
    session = await runner.session_service.create_session(app_name="soclab", user_id="lab")
    prompt = types.Content(role="user", parts=[types.Part(text=sys.stdin.read())])
    async for event in runner.run_async(user_id="lab", session_id=session.id, new_message=prompt):
        if event.is_final_response() and event.content:
            print("".join(part.text or "" for part in event.content.parts or []))
    await soc.close()


asyncio.run(main())
