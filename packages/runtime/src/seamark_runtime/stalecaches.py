"""Nothing is judged from a stale cache.

- An informer without a response for a long time is stale (`Informer.stale`) until it has listed again. Two informers
  of which one is stale show a state that never existed.
- A request whose controller reads a stale informer waits outside any worker, and is enqueued when the informer is
  current.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from seamark_runtime.request import Request
from seamark_runtime.source import Informer


class StaleCaches:
    def __init__(self, read: Mapping[str, Iterable[Informer[Any]]], enqueue: Callable[[Request], None]) -> None:
        """`read`: the informers that each controller reads."""
        self._read = {name: tuple(informers) for name, informers in read.items()}
        self._enqueue = enqueue
        self._parked: dict[Informer[Any], dict[Request, None]] = {}
        for informer in dict.fromkeys(informer for informers in self._read.values() for informer in informers):
            informer.on_progress(self._progressed)

    def park(self, request: Request) -> bool:
        """True if the request has to wait: it will be enqueued."""
        behind = next((informer for informer in self._read[request.controller] if informer.stale), None)
        if behind is None:
            return False
        self._parked.setdefault(behind, {})[request] = None
        return True

    def _progressed(self, informer: Informer[Any]) -> None:
        if informer in self._parked and not informer.stale:
            for request in self._parked.pop(informer):
                self._enqueue(request)
