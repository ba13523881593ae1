"""The operator runtime: sources, cache, queue, loop, apply, status. See docs/architecture.md for the way of data."""
