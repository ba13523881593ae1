"""The kinds of every API server: their types, defaults and rules."""
