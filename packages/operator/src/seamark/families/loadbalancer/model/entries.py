"""The entries of the family's collections."""

from __future__ import annotations

from dataclasses import dataclass

from seamark_edge.model import Endpoint, RefusedEndpoint
from seamark_runtime.api.meta import Key

EDGE = Key("", "edge")  # the one key of the poll, and the one subject of its result


@dataclass(frozen=True, slots=True)
class Poll:
    """The edge was polled. Where it has not `answered` for longer than an answer counts, `error` may say why."""

    answered: bool = True
    error: str = ""


@dataclass(frozen=True, slots=True)
class Agents:
    """Of one AgentEndpoint, or one place: endpoints that agents hold, and endpoints that the edge refused to them."""

    held: tuple[Endpoint, ...] = ()
    refused: tuple[RefusedEndpoint, ...] = ()


@dataclass(frozen=True, slots=True)
class HostEntry:
    """The name of a host's Domain, or why there is none."""

    name: str = ""
    refusal: str = ""
