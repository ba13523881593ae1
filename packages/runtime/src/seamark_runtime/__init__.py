"""The operator runtime: sources, cache, queue, loop, apply, status. See docs/architecture.md for the way of data."""

__version__ = "0.1.0"
