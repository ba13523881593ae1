"""Kinds that the agent and the forwarder follow."""
