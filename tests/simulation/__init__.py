"""The simulator: everything of the operator above the transport, on a deterministic loop, under adverse schedules.

A seed is a schedule; the same seed gives the same log of writes, to the byte. See docs/simulator.md.
"""
