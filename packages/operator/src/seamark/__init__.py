"""Seamark: endpoints that tell the truth."""

__version__ = "0.1.0"
