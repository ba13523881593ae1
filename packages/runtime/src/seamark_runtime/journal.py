"""What has changed since a moment, at the cost of how much that is."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

MOST = 20_000  # keys that are remembered


class Journal(Generic[K]):
    """Keys in the order of their last change.

    - `mark` is now. `since(mark)` has every key that was noted after that moment, once, those of long ago first.
    - Only the latest `most` keys are remembered: for a moment before them the result is None, and the caller reads
      everything.
    """

    def __init__(self, most: int = MOST) -> None:
        self.mark = 0
        self._most = most
        self._notes: OrderedDict[K, int] = OrderedDict()
        self._forgotten = 0  # the last change that is not remembered

    def note(self, key: K) -> None:
        self.mark += 1
        self._notes[key] = self.mark
        self._notes.move_to_end(key)
        if len(self._notes) > self._most:
            _, self._forgotten = self._notes.popitem(last=False)

    def since(self, mark: int) -> list[K] | None:
        if mark < self._forgotten:
            return None
        found = []
        for key, when in reversed(self._notes.items()):
            if when <= mark:
                break
            found.append(key)
        return found[::-1]
