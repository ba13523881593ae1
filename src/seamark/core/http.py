"""The transport over sockets: one bounded, warm pool of connections.

- Setting up TLS costs more than a request, so connections are kept and their number is bounded.
- A 401 renews the credentials once (exec plugin, OIDC, re-read token), then the request is sent again: the server
  did nothing with it. A token file is read again every minute, as Kubernetes rotates it.
- No answer is `NoAnswerError`; whether the request may have arrived is said with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import structlog

from seamark.core.clock import Clock, SystemClock
from seamark.core.connection import Connection, Load
from seamark.core.errors import SeamarkError
from seamark.core.transport import Answer, NoAnswerError, Request

log = structlog.get_logger(__name__)

REREAD = 60.0


class HttpStream:
    def __init__(self, response: aiohttp.ClientResponse, timeout: float) -> None:
        self._response = response
        self._timeout = timeout
        self.status = response.status

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, OSError) as error:
            raise NoAnswerError(f"the stream was cut: {describe(error)}") from error

    async def read(self) -> bytes:
        try:
            async with asyncio.timeout(self._timeout):
                return await self._response.read()
        except TimeoutError as error:
            raise NoAnswerError(f"no whole answer within {self._timeout:.3g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise NoAnswerError(f"the answer was cut: {describe(error)}") from error


class HttpTransport:
    def __init__(self, load: Load, *, limit: int = 64, clock: Clock | None = None) -> None:
        self._load = load
        self._places = asyncio.Semaphore(limit)  # streams are not counted: there is one per kind
        self._clock = clock or SystemClock()
        self._connection: Connection | None = None
        self._session: aiohttp.ClientSession | None = None
        self._loaded = float("-inf")
        self._renewing = asyncio.Lock()

    async def open(self) -> HttpTransport:
        """Loads credentials now, so that mistakes in them are told at the start."""
        await self._renew(self._clock.monotonic())
        return self

    async def send(self, request: Request) -> Answer:
        """The deadline counts from here: waiting for a place and for credentials included."""
        deadline = asyncio.get_running_loop().time() + request.timeout
        try:
            place = contextlib.nullcontext() if request.urgent else self._places
            async with asyncio.timeout_at(deadline) as waiting, place:
                session, connection = await self._ready()
                waiting.reschedule(None)
                answer = await self._send(request, session, connection, deadline)
                if answer.status != 401:
                    return answer
                waiting.reschedule(deadline)
                await self._renew(self._clock.monotonic())
                session, connection = await self._ready()
                waiting.reschedule(None)
                return await self._send(request, session, connection, deadline)
        except TimeoutError as error:
            raise NoAnswerError(f"no turn to be sent within {request.timeout:.3g} s", sent=False) from error

    async def _send(
        self, request: Request, session: aiohttp.ClientSession, connection: Connection, deadline: float
    ) -> Answer:
        left = deadline - asyncio.get_running_loop().time()
        if left <= 0:
            raise NoAnswerError(f"no turn to be sent within {request.timeout:.3g} s", sent=False)
        limits = aiohttp.ClientTimeout(total=left)
        try:
            async with session.request(
                request.method,
                connection.base_url + request.path,
                params=request.query,
                data=request.body or None,
                headers=headers(request, connection),
                timeout=limits,
                proxy=connection.proxy or None,
                server_hostname=connection.server_name or None,
            ) as response:
                return Answer(response.status, await response.read(), response.headers)
        except aiohttp.ClientConnectorError as error:
            raise NoAnswerError(describe(error), sent=False) from error
        except TimeoutError as error:
            raise NoAnswerError(f"no answer within {request.timeout:.3g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise NoAnswerError(describe(error)) from error

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[HttpStream]:
        session, connection = await self._ready()
        limits = aiohttp.ClientTimeout(total=None, sock_connect=request.timeout)
        try:
            async with asyncio.timeout(request.timeout) as opening:
                response = await session.request(
                    request.method,
                    connection.base_url + request.path,
                    params=request.query,
                    headers=headers(request, connection),
                    timeout=limits,
                    proxy=connection.proxy or None,
                    server_hostname=connection.server_name or None,
                )
                opening.reschedule(None)
        except TimeoutError as error:
            raise NoAnswerError(f"no answer within {request.timeout:.3g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise NoAnswerError(describe(error)) from error
        if response.status == 401:
            await self._renew(self._clock.monotonic())
        try:
            yield HttpStream(response, request.timeout)
        finally:
            abort(response)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _ready(self) -> tuple[aiohttp.ClientSession, Connection]:
        now = self._clock.monotonic()
        if now - self._loaded > REREAD:
            await self._renew(now)
        if self._session is None or self._connection is None:
            raise NoAnswerError("the transport is closed", sent=False)
        return self._session, self._connection

    async def _renew(self, asked: float) -> None:
        async with self._renewing:
            if self._loaded >= asked:
                return  # somebody has just done it
            connection = await self._reload()
            self._loaded = self._clock.monotonic()
            old, self._connection = self._connection, connection
            if self._session is None or old is None or not connection.same_channel(old):
                await self._reopen(connection)

    async def _reload(self) -> Connection:
        """What we have is kept when it can't be read again: it may well be good for longer than the trouble lasts."""
        if self._connection is None:
            return await self._load()
        try:
            return await self._load()
        except (SeamarkError, OSError) as error:
            log.warning("credentials not read again; going on with those we have", error=str(error))
            return self._connection

    async def _reopen(self, connection: Connection) -> None:
        before = self._session
        connector = aiohttp.TCPConnector(limit=0, ssl=connection.tls(), keepalive_timeout=90)
        self._session = aiohttp.ClientSession(
            connector=connector,
            auto_decompress=True,
            read_bufsize=2**18,
            requote_redirect_url=False,
        )
        if before is not None:
            await before.close()


def headers(request: Request, connection: Connection) -> dict[str, str]:
    told = {"Accept": request.accept, "User-Agent": "seamark"}
    if connection.token:
        told["Authorization"] = f"Bearer {connection.token}"
    if request.body:
        told["Content-Type"] = request.content_type
    return told


def abort(response: aiohttp.ClientResponse) -> None:
    """Leaves a stream at once: a farewell over TLS would wait for a peer that may be gone."""
    if response.connection is not None and response.connection.transport is not None:
        response.connection.transport.abort()
    response.close()


def describe(error: BaseException) -> str:
    """A network error in words."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLError):
        return f"the server's certificate is not trusted: {error}"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"can't connect to {error.host}:{error.port} ({error.os_error.strerror or error.os_error})"
    return str(error) or type(error).__name__
