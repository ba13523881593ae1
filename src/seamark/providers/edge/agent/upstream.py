"""One client's connection, brought from the edge to the service."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import structlog

from seamark.core.errors import UserError
from seamark.wire import tunnel
from seamark.wire.muxado import Code, Stream
from seamark.wire.muxado.frames import Bytes
from seamark.wire.splice import Splice

log = structlog.get_logger(__name__)

PORTS = {"http": 80, "https": 443, "tls": 443}
CONNECT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Upstream:
    """Where a service listens, and whether it speaks TLS."""

    host: str
    port: int
    context: ssl.SSLContext | None = None

    @classmethod
    def parse(cls, url: str) -> Upstream:
        """`tcp://host:port`, `http://host`, `tls://…`, `https://…`, or `host:port`."""
        try:
            parts = urlsplit(url if "://" in url else f"tcp://{url}")
            port = parts.port or PORTS.get(parts.scheme)
        except ValueError as error:
            raise UserError(f"{url!r} is no address of a service", hint=str(error)) from error
        if parts.scheme not in ("tcp", *PORTS) or not parts.hostname or not port:
            raise UserError(f"{url!r} is no address of a service", hint="write tcp://HOST:PORT or http://HOST:PORT")
        context = ssl.create_default_context() if parts.scheme in ("tls", "https") else None
        return cls(parts.hostname, port, context)


class UpstreamConnection(Splice, asyncio.Protocol):
    """A proxy stream of the edge, joined with a connection to the service that its header names.

    - What the client sends before the service answers the connect is kept, at most a window of it.
    - A service that can't be reached refuses the stream, so that the edge may try another agent.
    """

    __slots__ = ("_connecting", "_find", "_gone", "_header")

    def __init__(self, stream: Stream, find: Callable[[str], Upstream | None]) -> None:
        super().__init__()
        self.stream = stream
        self._find = find
        self._header: tunnel.ProxyHeaderReader | None = tunnel.ProxyHeaderReader()
        self._connecting: asyncio.Task[None] | None = None
        self._gone = False

    def received(self, data: Bytes) -> None:
        if self._header is None:
            super().received(data)
            return
        try:
            header = self._header.feed(data)
        except tunnel.MessageError as error:
            log.warning("the edge sent a bad proxy header", error=str(error))
            self._refuse(Code.PROTOCOL)
            return
        if header is None:
            return
        rest, self._header = self._header.rest, None
        upstream = self._find(header.id)
        if upstream is None:
            self._refuse(Code.STREAM_REFUSED)
            return
        if self.stream is not None:
            self.stream.credit(len(data) - len(rest))
        if rest:
            super().received(rest)
        self._connecting = asyncio.get_running_loop().create_task(self._connect(upstream))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if self._gone:
            self.cut()

    def lost(self, code: int) -> None:
        self._gone = True
        super().lost(code)

    async def _connect(self, upstream: Upstream) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await loop.create_connection(lambda: self, upstream.host, upstream.port, ssl=upstream.context)
        except (OSError, TimeoutError) as error:
            log.info("service not reached", host=upstream.host, port=upstream.port, error=str(error))
            self._refuse(Code.STREAM_REFUSED)
        finally:
            self._connecting = None

    def _refuse(self, code: Code) -> None:
        stream, self.stream = self.stream, None
        self._held.clear()
        if stream is not None and stream.open:
            stream.reset(code)
