"""What a deployment has configured: which records are managed, and how often zones are read and planned."""

from __future__ import annotations

from dataclasses import dataclass, field

from seamark.families.dns.model.rules import Rules


@dataclass(frozen=True)
class Intervals:
    """In seconds. `spacing`: the least time between two plans of a zone. `poll`: how often its serial is read.

    `shelf_life`: for how long that is valid. `asking`: between two questions about a record to its name servers, a
    third of the shelf life: an answer is valid for three of them. `reading`, `updating`: how long such a call may take;
    a call survives renewals of the Lease, and ends when that is lost.
    """

    spacing: float = 0.5
    poll: float = 30.0
    shelf_life: float = 120.0
    reading: float = 60.0
    updating: float = 120.0
    query_interval: float | None = None

    @property
    def asking(self) -> float:
        return self.shelf_life / 3 if self.query_interval is None else self.query_interval


@dataclass(frozen=True)
class Options:
    rules: Rules
    intervals: Intervals = field(default_factory=Intervals)
