"""One client's connection, forwarded from the edge to the service."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import cast

import structlog

from seamark_edge import urls
from seamark_edge.agent.keys import Dates, client_side, server_side
from seamark_edge.agent.model import Tunnel
from seamark_edge.wire import proxy_protocol, tunnel
from seamark_edge.wire.muxado import Code, Stream
from seamark_edge.wire.muxado.frames import Bytes
from seamark_edge.wire.secured import SecuredStream
from seamark_edge.wire.splice import Splice
from seamark_runtime.errors import UserError
from seamark_runtime.reach import Forbidden, allowed, forbidden, parsed
from seamark_runtime.resolver import Found, Resolver
from seamark_runtime.upstreams import Destination, out_of_reach

log = structlog.get_logger(__name__)

CONNECT_SECONDS = 10.0
CHECK_SECONDS = 3.0  # less than the edge waits for the result

GRACE_SECONDS = 0.2  # in which a proxy resets what it accepted for a Service without a Pod that accepts

Dialled = Callable[[str, str], None]  # the id of the bind, and what went wrong; "" if the upstream accepted


@dataclass(frozen=True, slots=True)
class Upstream:
    """Where a service listens, and what is between the stream and it.

    - `context`: the service speaks TLS. `termination`: the client's TLS ends here.
    - `split`: the PROXY header that the edge put in front goes to the service before any TLS, as its own bytes.
    - `resolver`: who finds the host's address; None for the system.
    - `restricted`: not to a link-local or metadata address, and inside of a Pod not to our own loopback (`reach`).
    - `destination`: what the name means in the cluster (`upstreams`): that is looked up, by its whole name.
      Unless it may be `anywhere`, an alias (a Service with an external name) and a host outside of the cluster lead to
      public addresses only.
    - `dates`: of the certificate with which the client's TLS ends here.
    """

    host: str
    port: int
    context: ssl.SSLContext | None = None
    termination: ssl.SSLContext | None = None
    split: bool = False
    restricted: bool = False
    resolver: Resolver | None = None
    destination: Destination | None = None
    anywhere: bool = False
    dates: Dates | None = None

    @classmethod
    def of(cls, wanted: Tunnel, roots: str = "", resolver: Resolver | None = None) -> Upstream:
        """`tcp://host:port`, `http://host`, `tls://…`, `https://…`, `host:port`, or a port of this machine."""
        try:
            url = urls.upstream(wanted.upstream)
        except urls.BadUrl as error:
            raise UserError(f"upstream: {error}", hint="write tcp://HOST:PORT or http://HOST:PORT") from None
        context = client_side(wanted, roots) if url.encrypted else None
        termination = server_side(wanted.termination) if wanted.termination else None
        split = bool(wanted.proxy_version and (context or termination))
        if wanted.restricted and (trouble := forbidden(url.host)):
            raise UserError(f"{wanted.upstream!r} leads to {trouble}", hint="name a Service of the cluster")
        return cls(
            url.host,
            url.port,
            context,
            termination,
            split,
            wanted.restricted,
            resolver,
            wanted.destination,
            wanted.anywhere,
            Dates.of(wanted.termination.server) if wanted.termination else None,
        )

    def refused_by_clients(self, now: datetime) -> str:
        """Why clients end their TLS before a connection reaches the service; "" if they do not."""
        return self.dates.trouble(now) if self.dates is not None else ""

    async def addresses(self) -> tuple[str, ...]:
        """What to connect to: the first that answers."""
        if self.destination is not None:
            return await self._meant(self.destination)
        if self.restricted:
            return tuple(await allowed(self.host, self.port, self.resolver))
        return (self.host,) if self.resolver is None else await self.resolver.lookup(self.host)

    async def check(self) -> str:
        """Dial it as for a connection, and close it soon. What went wrong; "" if it accepted.

        A proxy in between (of nodes, of a mesh) accepts first, and resets the connection when no Pod accepts it.

        Its TLS is a part of that, unless it expects a PROXY header in front.
        """
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                await self._dial()
        except (OSError, TimeoutError) as error:
            return trouble_of(error, self)
        return ""

    async def _dial(self) -> None:
        loop, trouble = asyncio.get_running_loop(), OSError(f"{self.host} has no address")
        context = None if self.split else self.context
        name = self.host if context is not None else None
        for address in await self.addresses():
            try:
                transport, dialled = await loop.create_connection(
                    Dialling, address, self.port, ssl=context, server_hostname=name
                )
            except OSError as error:
                trouble = error
                continue
            try:
                if not await dialled.refused():
                    return
                trouble = ConnectionResetError(errno.ECONNRESET, "")
            finally:
                transport.abort()
        raise trouble

    async def _meant(self, meant: Destination) -> tuple[str, ...]:
        if parsed(meant.host) is not None:
            found = Found(meant.host, (meant.host,))
        else:
            found = await (self.resolver or Resolver()).find(f"{meant.host}.")
        good = [address for address in found.addresses if parsed(address) is not None and not forbidden(address)]
        if not self.anywhere and (meant.namespace is None or found.name != meant.host):
            good = [address for address in good if not out_of_reach(address)]
        if found.addresses and not good:
            raise Forbidden(f"{self.host} leads to an address that is not allowed")
        return tuple(good)


class Dialling(asyncio.Protocol):
    """A connection that is only opened. The first bytes close it: nothing of them is kept."""

    def __init__(self) -> None:
        self._ended: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.BaseTransport | None = None  # set as long as it is connected and no bytes came

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, _data: bytes) -> None:
        self._end(refused=False)
        transport, self._transport = self._transport, None
        if transport is not None:
            cast("asyncio.Transport", transport).abort()

    def eof_received(self) -> None:
        self._end(refused=True)

    def connection_lost(self, _error: Exception | None) -> None:
        self._transport = None
        self._end(refused=True)

    def _end(self, *, refused: bool) -> None:
        if not self._ended.done():
            self._ended.set_result(refused)

    async def refused(self) -> bool:
        """Whether it was closed at once, without a byte."""
        await asyncio.wait([self._ended], timeout=GRACE_SECONDS)
        return self._ended.done() and self._ended.result()


def trouble_of(error: Exception, upstream: Upstream) -> str:
    """Why the upstream did not accept a connection: stable between attempts."""
    if isinstance(error, ssl.SSLError):
        reason = getattr(error, "verify_message", "") or error.reason or "TLS failed"
    elif isinstance(error, socket.gaierror):
        reason = error.strerror or "the name does not resolve"
    elif isinstance(error, OSError) and error.errno:
        reason = os.strerror(error.errno)
    else:
        reason = str(error) or "no response in time"
    return f"{upstream.host}:{upstream.port}: {reason}"


class UpstreamConnection(Splice, asyncio.Protocol):
    """A proxy stream of the edge, joined with a connection to the service that its header names.

    - What the client sends before the service answers the connect is kept, at most a window of it.
    - A service that can't be reached refuses the stream, so that the edge may try another agent.
    - Where the client's TLS ends here, the service is not connected before the client is authenticated.
    """

    __slots__ = ("_bind", "_connecting", "_dialled", "_find", "_gone", "_head", "_header", "_preface", "_upstream")

    def __init__(
        self, stream: Stream, find: Callable[[str], Upstream | None], dialled: Dialled = lambda _bind, _trouble: None
    ) -> None:
        super().__init__()
        self.stream = stream
        self._find = find
        self._dialled = dialled
        self._bind = ""
        self._header: tunnel.ProxyHeaderReader | None = tunnel.ProxyHeaderReader()
        self._upstream: Upstream | None = None
        self._head: bytes | None = None  # the PROXY header, while it is incomplete
        self._preface = b""  # the PROXY header, for the service
        self._connecting: asyncio.Task[None] | None = None
        self._gone = False

    def received(self, data: Bytes) -> None:
        if self._header is not None:
            self._greeted(self._header, data)
        elif self._head is not None:
            self._split(self._head + bytes(data))
        else:
            super().received(data)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if self._gone:
            self.cut()

    def lost(self, code: int) -> None:
        self._gone = True
        super().lost(code)

    def _greeted(self, reader: tunnel.ProxyHeaderReader, data: Bytes) -> None:
        try:
            header = reader.feed(data)
        except tunnel.MessageError as error:
            log.warning("the edge sent a bad proxy header", error=str(error))
            self._refuse(Code.PROTOCOL)
            return
        if header is None:
            return
        rest, self._header = reader.rest, None
        self._bind = header.id
        upstream = self._upstream = self._find(header.id)
        if upstream is None:
            self._refuse(Code.STREAM_REFUSED)
            return
        if self.stream is not None:
            self.stream.credit(len(data) - len(rest))
        if upstream.split:
            self._head = b""
            self._split(rest)
        else:
            self._begin(upstream, rest)

    def _split(self, data: bytes) -> None:
        """Take the PROXY header off the front: it goes to the service as it is, in front of any TLS."""
        assert self._upstream is not None
        try:
            found = proxy_protocol.parse(data)
        except proxy_protocol.ProxyError as error:
            log.warning("the edge sent a bad PROXY header", error=str(error))
            self._refuse(Code.PROTOCOL)
            return
        if found is None:
            self._head = data
            return
        self._head, self._preface = None, data[: found[1]]
        if self.stream is not None:
            self.stream.credit(len(self._preface))
        self._begin(self._upstream, data[found[1] :])

    def _begin(self, upstream: Upstream, rest: bytes) -> None:
        if upstream.termination is None:
            self._dial()
        elif self.stream is not None:
            stream = cast("Stream", self.stream)
            self.stream = stream.handler = SecuredStream(stream, upstream.termination, self, self._dial)
            if rest:
                stream.handler.received(rest)
            return
        if rest:
            super().received(rest)

    def _dial(self) -> None:
        if self._upstream is not None and not self._gone:
            self._connecting = asyncio.get_running_loop().create_task(self._connect(self._upstream))

    async def _connect(self, upstream: Upstream) -> None:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._open(upstream)
        except (OSError, TimeoutError) as error:
            log.info("service not reached", host=upstream.host, port=upstream.port, error=str(error))
            self._refuse(Code.STREAM_REFUSED)
            self._dialled(self._bind, trouble_of(error, upstream))
        except Exception:
            log.exception("connection failed: this is a bug in Seamark", host=upstream.host, port=upstream.port)
            self._refuse(Code.STREAM_REFUSED)
        else:
            self._dialled(self._bind, "")
        finally:
            self._connecting = None

    async def _open(self, upstream: Upstream) -> None:
        trouble = OSError(f"{upstream.host} has no address")
        for address in await upstream.addresses():
            try:
                await self._open_at(address, upstream)
            except OSError as error:
                trouble = error
            else:
                return
        raise trouble

    async def _open_at(self, address: str, upstream: Upstream) -> None:
        loop = asyncio.get_running_loop()
        if not self._preface:
            name = upstream.host if upstream.context is not None else None
            await loop.create_connection(
                lambda: self, address, upstream.port, ssl=upstream.context, server_hostname=name
            )
            return
        transport, _ = await loop.create_connection(asyncio.Protocol, address, upstream.port)
        transport.write(self._preface)
        if upstream.context is None:
            transport.set_protocol(self)
            self.connection_made(transport)
            return
        try:
            secure = await loop.start_tls(transport, self, upstream.context, server_hostname=upstream.host)
        except BaseException:
            transport.abort()
            raise
        assert secure is not None
        self.connection_made(secure)

    def _refuse(self, code: Code) -> None:
        stream, self.stream = self.stream, None
        self._held.clear()
        if stream is not None and stream.open:
            stream.reset(code)
