"""UDP through the proxy: one flow per client to one backend, until it is idle."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import cast

from seamark_cluster.routing.balance import Balance
from seamark_cluster.routing.table import Address, Route

IDLE = 60.0
MOST_WAYS = 4096

Client = tuple[str, int]


class DatagramListener:
    """One UDP address of a Service.

    - A client's datagrams go to one backend until its flow is idle for a minute; responses go back to that client.
    - The route may change: a flow to a removed backend is not used again.
    """

    def __init__(self, address: Address, route: Route, clock: Callable[[], float]) -> None:
        self.address = address
        self.route = route
        self._clock = clock
        self._balance = Balance(clock)
        self._ways: dict[Client, _Flow] = {}
        self._transport: asyncio.DatagramTransport | None = None

    async def open(self) -> None:
        family = socket.AF_INET6 if ":" in self.address.host else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_DGRAM)
        try:
            bound.bind(self.address)
            loop = asyncio.get_running_loop()
            self._transport, _ = await loop.create_datagram_endpoint(lambda: _Front(self.receive), sock=bound)
        except BaseException:
            bound.close()
            raise

    def close(self, *, hard: bool = False) -> None:
        """UDP has no connections to drain, so `hard` makes no difference."""
        if self._transport is not None:
            self._transport.close()
            self._transport = None
        for way in self._ways.values():
            way.close()
        self._ways.clear()

    def receive(self, data: bytes, client: Client) -> None:
        way = self._ways.get(client)
        if way is not None and (way.stale(self._clock()) or way.backend not in self.route.backends):
            self._ways.pop(client).close()
            way = None
        if way is None:
            self._sweep()
            if len(self._ways) >= MOST_WAYS:
                return  # as with a full conntrack table in the kernel, the datagram is dropped
            backend = next(self._balance.candidates(self.route, client[0]))
            self._balance.stay(self.route, client[0], backend)
            way = self._ways[client] = _Flow(backend, self._clock, lambda answer: self._answer(answer, client))
        way.send(data)

    def _answer(self, data: bytes, client: Client) -> None:
        if self._transport is not None:
            self._transport.sendto(data, client)

    def _sweep(self) -> None:
        now = self._clock()
        for client in [client for client, way in self._ways.items() if way.stale(now)]:
            self._ways.pop(client).close()


class _Front(asyncio.DatagramProtocol):
    def __init__(self, receive: Callable[[bytes, Client], None]) -> None:
        self._receive = receive

    def datagram_received(self, data: bytes, addr: Client) -> None:
        self._receive(data, (addr[0], addr[1]))


class _Flow(asyncio.DatagramProtocol):
    """The socket of one client to one backend. Datagrams sent before it is open are queued."""

    def __init__(self, backend: Address, clock: Callable[[], float], answer: Callable[[bytes], None]) -> None:
        self.backend = backend
        self._clock = clock
        self._answer = answer
        self._moved = clock()
        self._early: list[bytes] = []
        self._transport: asyncio.DatagramTransport | None = None
        self._opening = asyncio.get_running_loop().create_task(self._open())

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(lambda: self, remote_addr=self.backend)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)
        for data in self._early:
            self._transport.sendto(data)
        self._early = []

    def datagram_received(self, data: bytes, addr: Client) -> None:
        self._moved = self._clock()
        self._answer(data)

    def error_received(self, exc: Exception) -> None:
        """The backend refused the datagram: it is lost for the client."""

    def send(self, data: bytes) -> None:
        self._moved = self._clock()
        if self._transport is not None:
            self._transport.sendto(data)
        else:
            self._early.append(data)

    def stale(self, now: float) -> bool:
        return now - self._moved > IDLE

    def close(self) -> None:
        self._opening.cancel()
        if self._transport is not None:
            self._transport.close()
