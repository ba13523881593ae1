"""The agent side: our own muxado client, which holds tunnels at an edge and brings their connections to services."""

from seamark_edge.agent.agent import Agent
from seamark_edge.agent.model import AgentSettings, Holder, Tunnel

__all__ = ["Agent", "AgentSettings", "Holder", "Tunnel"]
