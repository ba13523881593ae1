"""The public edge, the agent and the forwarder that connect a cluster to it, and their wire protocols."""

__version__ = "0.1.0"
