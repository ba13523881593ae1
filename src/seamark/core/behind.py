"""Nothing is judged from a cache of the past.

- An informer that nobody has answered for long is behind (`Informer.behind`), until it has listed anew. Another one may
  have caught up before it: what both show together was never so.
- A key whose controller reads such an informer waits outside of any worker, and is queued when it has caught up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from seamark.core.queue import Item
from seamark.core.source import Informer


class Behind:
    def __init__(self, read: Mapping[str, Iterable[Informer[Any]]], wake: Callable[[Item], None]) -> None:
        """`read`: the informers that each controller reads."""
        self._read = {name: tuple(informers) for name, informers in read.items()}
        self._wake = wake
        self._parked: dict[Informer[Any], dict[Item, None]] = {}
        for informer in dict.fromkeys(one for informers in self._read.values() for one in informers):
            informer.on_progress(self._progressed)

    def park(self, item: Item) -> bool:
        """True if the key has to wait: it will be queued."""
        behind = next((informer for informer in self._read[item.kind] if informer.behind), None)
        if behind is None:
            return False
        self._parked.setdefault(behind, {})[item] = None
        return True

    def _progressed(self, informer: Informer[Any]) -> None:
        if informer in self._parked and not informer.behind:
            for item in self._parked.pop(informer):
                self._wake(item)
