"""Listeners of gateways and listener sets: their conditions and their status."""
