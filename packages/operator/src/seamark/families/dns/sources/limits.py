"""The limits of the records of one object."""

from __future__ import annotations

LONGEST_TTL = 2**31 - 1  # RFC 2181
MOST_TARGETS_IN_ALL = 20_000  # of one object: its names and its targets may multiply
