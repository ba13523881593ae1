"""All Services of a cluster on this machine: a listener for each of their addresses that has endpoints."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from random import Random

import structlog

from seamark_cluster.routing.balance import Balance
from seamark_cluster.routing.datagrams import DatagramListener
from seamark_cluster.routing.proxy import Inbound
from seamark_cluster.routing.table import Address, Front, Route, routes
from seamark_runtime.api.core import Service
from seamark_runtime.api.discovery import EndpointSlice
from seamark_runtime.api.meta import Key
from seamark_runtime.backoff import Backoff
from seamark_runtime.cache import Change, Index
from seamark_runtime.queue import Queue
from seamark_runtime.request import Request
from seamark_runtime.source import Informer

log = structlog.get_logger(__name__)

BY_SERVICE: Index[EndpointSlice] = Index(
    EndpointSlice, lambda entry: (Key(entry.metadata.namespace, entry.service),) if entry.service else (), "by Service"
)
BACKLOG = 1024


class Listener:
    """One address of a Service. Its route may change; open connections stay with their backend."""

    def __init__(self, address: Address, route: Route, clock: Callable[[], float]) -> None:
        self.address = address
        self.route = route
        self._balance = Balance(clock)
        self._connections: set[Inbound] = set()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        family = socket.AF_INET6 if ":" in self.address.host else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_STREAM)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(self.address)
            self._server = await asyncio.get_running_loop().create_server(self._accept, sock=bound, backlog=BACKLOG)
        except BaseException:
            bound.close()
            raise

    def close(self, *, hard: bool = False) -> None:
        """Accepts no new connections. Open ones end by themselves, or now if `hard`."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for connection in list(self._connections) if hard else ():
            connection.abort()

    def _accept(self) -> Inbound:
        return Inbound(
            lambda client: self._balance.candidates(self.route, client),
            lambda client, backend: self._balance.stay(self.route, client, backend),
            self._connections,
        )


class Router:
    """Follows Services and their EndpointSlices, and opens and closes listeners.

    - A Service without endpoints has no listener: the kernel refuses its connections, as with kube-proxy.
    - An address that can't be opened is logged once and retried; other Services are not affected.
    """

    def __init__(self, services: Informer[Service], slices: Informer[EndpointSlice], *, node: str = "") -> None:
        self._services = services
        self._slices = slices
        self._node = node
        self._queue = Queue(Random(), Backoff(first=0.1, most=10.0))
        self._listeners: dict[Key, dict[Front, Listener | DatagramListener]] = {}
        self._reported: set[Front] = set()
        services.on_change(self._service_changed)
        slices.on_change(self._slice_changed)

    @property
    def listening(self) -> frozenset[Front]:
        return frozenset(front for listeners in self._listeners.values() for front in listeners)

    async def run(self) -> None:
        try:
            while True:
                item = await self._queue.take()
                try:
                    await self._pass(item)
                except Exception:  # an invalid Service does not affect the others
                    log.exception("Service not routed", service=str(item.key))
                    self._queue.add_failed(item)
                finally:
                    self._queue.done(item)
        finally:
            self._queue.close()
            for listeners in self._listeners.values():
                for listener in listeners.values():
                    listener.close(hard=True)

    def _service_changed(self, _: object, change: Change[Service]) -> None:
        self._queue.add(Request("Service", change.key))

    def _slice_changed(self, _: object, change: Change[EndpointSlice]) -> None:
        for obj in change.objects():
            if obj.service:
                self._queue.add(Request("Service", Key(obj.metadata.namespace, obj.service)))

    async def _pass(self, item: Request) -> None:
        service = self._services.cache.get(item.key)
        slices = self._slices.cache.by(BY_SERVICE, item.key)
        wanted = {} if service is None else routes(service, slices, self._node)
        listeners = self._listeners.setdefault(item.key, {})
        for front in [front for front in listeners if front not in wanted]:
            listeners.pop(front).close()
        failed = False
        for front, route in wanted.items():
            if front in listeners:
                listeners[front].route = route
            elif (listener := await self._open(item, front, route)) is not None:
                listeners[front] = listener
            else:
                failed = True
        if not listeners:
            del self._listeners[item.key]
        if failed:
            self._queue.add_failed(item)
        else:
            self._queue.succeeded(item)

    async def _open(self, item: Request, front: Front, route: Route) -> Listener | DatagramListener | None:
        kind = DatagramListener if front.protocol == "UDP" else Listener
        listener = kind(front.address, route, asyncio.get_running_loop().time)
        try:
            await listener.open()
        except OSError as error:
            if front not in self._reported:
                self._reported.add(front)
                log.warning("Service listener failed", service=str(item.key), address=str(front), error=why(error))
            return None
        self._reported.discard(front)
        return listener


def why(error: OSError) -> str:
    match error.errno:
        case errno.EADDRNOTAVAIL:
            return "the address is not of this machine: the range of Services is not routed here"
        case errno.EACCES:
            return "ports below 1024 need more rights"
        case _:
            return error.strerror or str(error)
