"""The agent side: our own muxado client, which holds tunnels at an edge and brings their connections to services."""

from seamark.providers.edge.agent.agent import Agent, AgentSettings, Tunnel

__all__ = ["Agent", "AgentSettings", "Tunnel"]
