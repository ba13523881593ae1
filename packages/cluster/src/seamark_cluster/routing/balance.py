"""Choosing a backend for a connection."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator

from seamark_cluster.routing.table import Address, Route

MOST_CLIENTS = 10_000


class Balance:
    """Round robin over the backends; with affinity, a client's last backend while it exists.

    - `candidates` returns all backends of a route, the chosen one first: when one refuses, the next is tried.
    - `stay` records which backend accepted a client's connection.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._turn = 0
        self._clients: OrderedDict[str, tuple[Address, float]] = OrderedDict()

    def candidates(self, route: Route, client: str) -> Iterator[Address]:
        usual = self._remembered(route, client)
        if usual is not None:
            yield usual
        start, self._turn = self._turn, self._turn + 1
        count = len(route.backends)
        for step in range(count):
            backend = route.backends[(start + step) % count]
            if backend != usual:
                yield backend

    def stay(self, route: Route, client: str, backend: Address) -> None:
        if route.affinity:
            self._clients[client] = (backend, self._clock() + route.affinity)
            self._clients.move_to_end(client)
            while len(self._clients) > MOST_CLIENTS:
                self._clients.popitem(last=False)

    def _remembered(self, route: Route, client: str) -> Address | None:
        if not route.affinity or client not in self._clients:
            return None
        backend, until = self._clients[client]
        return backend if until > self._clock() and backend in route.backends else None
