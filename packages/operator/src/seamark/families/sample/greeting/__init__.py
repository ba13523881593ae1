"""Greeting: a text in a ConfigMap, and on a board if one is named."""
