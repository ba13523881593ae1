"""What the sweep is decided from, and the listing that it looks at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from seamark_edge.model import Owner
from seamark_runtime.calls import Results

VERIFY = 60.0  # seconds between two listings


@dataclass(frozen=True)
class ListRegistrations:
    """List the registrations at the edge that were made for this cluster."""

    ANSWER: ClassVar[Any] = tuple[Owner, ...]
    cluster: str


@dataclass(frozen=True, slots=True)
class Seen:
    results: Results
    cluster: str
    due: tuple[Owner, ...]
