"""A claim: what True means to a client. The table of all claims is in `claims`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.witness.api import Json, Key
from tests.witness.clients import Answer, Clients

SHELF = 15.0  # seconds, for whatever is probed
AT_THE_EDGE = 180.0  # for what the edge has listed

Objects = dict[Key, Json]


@dataclass(frozen=True)
class Lab:
    """What a client needs to know: where it runs, whom it trusts, and the present objects."""

    clients: Clients
    edge_ca: str
    own_ca: str
    objects: Objects
    edge_key: str = ""  # of an API client of the edge
    pods: Callable[[str, str], list[str]] = lambda namespace, name: []  # addresses of the ready Pods of a workload


Client = Callable[[Lab, Json], Answer | None]
"""None: the object shows nothing to connect to, or the response is about something else."""


@dataclass(frozen=True)
class Claim:
    """`leading`: faults wait until such a claim of their targets is noticed to be broken; the others are checked only.

    `denies`: while its client succeeds, the condition is to be True. It is not so for a client that stands for another
    one (an agent), or that can see a part only.
    """

    kind: str
    condition: str
    family: str
    says: str
    client: Client
    shelf: float = SHELF
    when: Callable[[Json], bool] = lambda obj: True
    within: str = ""  # another condition of the object: only while it is True, this one claims what clients see
    leading: bool = True
    denies: bool = True


def conditions(obj: Json) -> Iterator[Json]:
    """Conditions of an object, of a route's parents, of a policy's ancestors. Those of a Gateway's only listener are
    marked as such."""
    status = obj.get("status") or {}
    for listener in status.get("listeners") or ():
        for one in listener.get("conditions") or ():
            yield {**one, "type": f"listener {one['type']}"}
    yield from status.get("conditions") or ()
    for part in (*(status.get("parents") or ()), *(status.get("ancestors") or ())):
        yield from part.get("conditions") or ()
