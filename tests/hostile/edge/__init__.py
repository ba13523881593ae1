"""Hostile agents, callers and clients at the ports of a running edge, beside an honest agent that must not notice."""
