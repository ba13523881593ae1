"""Records whose object is gone: they are kept for a grace period, so that it can come back. No I/O, no clock.

An object that is deleted in the usual way has a finalizer, and its records go before it does. Here are those whose
finalizer was removed by hand, or that went while no operator ran. An object that can't be read is not gone.
"""

from __future__ import annotations

from collections.abc import Callable


class Orphans:
    """Contract:

    - `kept`: whether the records of this object, which is not there, are kept still. Its grace begins with the first
      question after `pass_time`. `deleted` ends it: the deletion was seen.
    - `pass_time` returns the objects whose grace ends by then, each once.
    - After a restart every grace begins anew: it is never shorter than it should be.
    """

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self._now = 0.0
        self._ends: dict[str, float] = {}  # by object, for those that are kept
        self._over: set[str] = set()  # objects whose records may be deleted

    @property
    def next_end(self) -> float:
        return min(self._ends.values(), default=float("inf"))

    def pass_time(self, now: float) -> list[str]:
        self._now = now
        ended = [resource for resource, end in self._ends.items() if end <= now]
        for resource in ended:
            self.deleted(resource)
        return ended

    def kept(self, resource: str) -> bool:
        if self._grace <= 0 or resource in self._over:
            return False
        self._ends.setdefault(resource, self._now + self._grace)
        return True

    def deleted(self, resource: str) -> None:
        self._ends.pop(resource, None)
        self._over.add(resource)

    def found(self, resource: str) -> bool:
        """The object is there again. Returns whether it was missed."""
        missed = resource in self._ends or resource in self._over
        self._ends.pop(resource, None)
        self._over.discard(resource)
        return missed

    def forget(self, nothing_left: Callable[[str], bool]) -> None:
        """Of these objects nothing is left."""
        for resource in [resource for resource in (*self._ends, *self._over) if nothing_left(resource)]:
            self._ends.pop(resource, None)
            self._over.discard(resource)
