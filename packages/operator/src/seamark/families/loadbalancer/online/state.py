"""What is decided about the poll from, and the action that polls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from seamark.families.loadbalancer.model.options import Intervals
from seamark_edge.model import Endpoint, RefusedEndpoint
from seamark_runtime.calls import Results


@dataclass(frozen=True)
class Online:
    """Everything that is online, of any holder, and what was refused to agents."""

    endpoints: tuple[Endpoint, ...] = ()
    refused: tuple[RefusedEndpoint, ...] = ()


@dataclass(frozen=True)
class Look:
    """List what is online at the edge."""

    ANSWER: ClassVar[Any] = Online


@dataclass(frozen=True, slots=True)
class Seen:
    results: Results
    timing: Intervals
