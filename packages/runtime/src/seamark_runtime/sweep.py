"""A sweep by owner: what exists remotely for a Kubernetes object that is gone without its finalizer's work done.

- Whose a remote object is follows from its mark of ownership alone, which has the uid: an object of the same name with
  another uid is another owner.
- An owner is swept when it was gone in every look for a grace period. One that exists again, or is not listed any more,
  starts anew.
- A look is complete, or it is none: `owners` come from one whole listing, and `exists` reads synced sources of the
  leader. The runtime reconciles nothing before its sources have synced, and nothing from stale caches; a listing that
  failed or is too old is no look, and leaves everything as it was.
- Pure: the caller keeps the value (a declared memory), and passes the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

K = TypeVar("K")  # an owner

Unclaimed = Mapping[K, float]  # since when each owner was gone


def looked(before: Unclaimed[K] | None, owners: Iterable[K], exists: Callable[[K], bool], now: float) -> Unclaimed[K]:
    """What is unclaimed after one more look."""
    known = before or {}
    return {owner: known.get(owner, now) for owner in owners if not exists(owner)}


def due(unclaimed: Unclaimed[K] | None, grace: float, now: float) -> tuple[K, ...]:
    """The owners whose remote objects are removed now."""
    return tuple(owner for owner, since in (unclaimed or {}).items() if now - since >= grace)


def next_due(unclaimed: Unclaimed[K] | None, grace: float, now: float) -> float:
    """When the next owner is due; infinity if none is."""
    times = (since + grace for since in (unclaimed or {}).values())
    return min((time for time in times if time > now), default=float("inf"))
