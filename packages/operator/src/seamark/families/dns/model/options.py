"""What a deployment has configured: which records are managed, and how often zones are read and planned."""

from __future__ import annotations

from dataclasses import dataclass, field

from seamark.families.dns.model.rules import Rules


@dataclass(frozen=True)
class Intervals:
    """In seconds. `spacing`: the least time between two plans of a zone. `poll`: how often its serial is read."""

    spacing: float = 0.5
    poll: float = 30.0
    shelf_life: float = 120.0


@dataclass(frozen=True)
class Options:
    rules: Rules
    intervals: Intervals = field(default_factory=Intervals)
