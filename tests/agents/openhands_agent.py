"""An OpenHands agent with the servers of ~/.openhands/mcp.json, as its own command line reads them: openhands_agent.py MODEL_URL TASK"""

import json
import sys
from pathlib import Path

from openhands.sdk import LLM, Agent, Conversation
from pydantic import SecretStr

url, task = sys.argv[1:]
servers = json.loads((Path.home() / ".openhands/mcp.json").read_text())["mcpServers"]
servers = {name: {"env": {}, **server} for name, server in servers.items()}
model = LLM(model="openai/scripted", base_url=f"{url}/v1", api_key=SecretStr("none"))
conversation = Conversation(Agent(llm=model, tools=[], mcp_config=servers), workspace=str(Path.cwd()))
conversation.send_message(task)
conversation.run()
