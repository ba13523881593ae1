"""Validation of built-in kinds, with the API server's messages."""
