"""The ports that are listened on: exactly those that there are routes for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from random import Random

import structlog

from seamark_edge.forwarder.halves import PodHalf
from seamark_edge.forwarder.routes import Route
from seamark_runtime.backoff import Backoff

log = structlog.get_logger(__name__)

BACKLOG = 1024


class Listeners:
    """Opens and closes servers as routes come and go.

    - A connection is for the route that its port has when it comes: a port that was given anew has no old handler.
    - A port that can't be had is tried again, with growing pauses, and holds up no other; `troubles` says why.
    """

    def __init__(self, bind: str, serve: Callable[[Route], PodHalf], random: Random) -> None:
        self._bind = bind
        self._serve = serve
        self._random = random
        self._backoff = Backoff(first=0.2, most=30.0)
        self._routes: dict[int, Route] = {}
        self._servers: dict[int, asyncio.AbstractServer] = {}
        self._failures: dict[int, int] = {}
        self._changed = asyncio.Event()
        self.troubles: dict[int, str] = {}

    @property
    def ports(self) -> tuple[int, ...]:
        return tuple(sorted(self._servers))

    def want(self, routes: Mapping[int, Route]) -> None:
        self._routes = dict(routes)
        self._changed.set()

    async def run(self) -> None:
        """Keeps the ports as they are wanted, until cancelled; then none is listened on."""
        try:
            while True:
                self._changed.clear()
                pause = await self._settle()
                try:
                    async with asyncio.timeout(pause):
                        await self._changed.wait()
                except TimeoutError:
                    pass
        finally:
            for port in list(self._servers):
                self._close(port)

    async def _settle(self) -> float | None:
        """Seconds until something is to be tried again; None if nothing is."""
        for port in [port for port in self._servers if port not in self._routes]:
            self._close(port)
        for port in [port for port in self.troubles if port not in self._routes]:
            del self.troubles[port]
        for port in sorted(set(self._routes) - set(self._servers)):
            await self._open(port)
        if not self.troubles:
            return None
        return min(self._backoff.pause(self._random, self._failures[port]) for port in self.troubles)

    async def _open(self, port: int) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._servers[port] = await loop.create_server(
                lambda: self._accept(port), self._bind or None, port, backlog=BACKLOG, reuse_address=True
            )
        except OSError as error:
            reason = error.strerror or str(error)
            self._failures[port] = self._failures.get(port, -1) + 1
            if self.troubles.get(port) != reason:
                log.warning("can't listen", port=port, error=reason)
            self.troubles[port] = reason
            return
        self.troubles.pop(port, None)
        self._failures.pop(port, None)
        route = self._routes.get(port)
        log.info("listening", port=port, endpoint=route.name if route else "")

    def _close(self, port: int) -> None:
        log.info("no longer listening", port=port)
        self._servers.pop(port).close()

    def _accept(self, port: int) -> PodHalf:
        return self._serve(self._routes.get(port, NO_ROUTE))


NO_ROUTE = Route("", 0, "")  # a connection that came in the moment in which its port was given up
