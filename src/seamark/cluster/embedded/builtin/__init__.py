"""The kinds every API server has: their types, defaults and rules."""
