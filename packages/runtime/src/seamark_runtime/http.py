"""The transport over sockets: one bounded, warm pool of connections.

- Setting up TLS costs more than a request, so connections are kept and their number is bounded.
- A 401 renews the credentials once (exec plugin, OIDC, re-read token), then the request is sent again: the server
  did nothing with it (`renewal`).
- No answer is `NoAnswerError`; it carries whether the request may have arrived. Its message names no time: a write
  has what is left of the Lease, so it would differ from one try to the next, and a condition would with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from seamark_runtime.clock import Clock, SystemClock
from seamark_runtime.connection import Connection, Load
from seamark_runtime.renewal import Renewal
from seamark_runtime.transport import Answer, HttpRequest, NoAnswerError
from seamark_runtime.untrusted.bodies import read_body
from seamark_runtime.untrusted.decoding import Malformed

UNREADABLE = (aiohttp.ClientError, OSError, ValueError)  # ValueError: headers that the library can't read
LARGEST = 512 * 2**20  # bytes of an answer: a list of many objects


class HttpStream:
    def __init__(self, response: aiohttp.ClientResponse, timeout: float) -> None:
        self._response = response
        self._timeout = timeout
        self.status = response.status

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except UNREADABLE as error:
            raise NoAnswerError(f"the stream was cut: {describe(error)}") from error

    async def read(self) -> bytes:
        try:
            async with asyncio.timeout(self._timeout):
                return await read_body(self._response.content.iter_any(), LARGEST)
        except TimeoutError as error:
            raise NoAnswerError("no whole answer in time") from error
        except Malformed as error:
            raise NoAnswerError(str(error)) from None
        except UNREADABLE as error:
            raise NoAnswerError(f"the answer was cut: {describe(error)}") from error


class HttpTransport:
    def __init__(self, load: Load, *, limit: int = 64, clock: Clock | None = None) -> None:
        self._places = asyncio.Semaphore(limit)  # streams are not counted: there is one per kind
        self._clock = clock or SystemClock()
        self._connection: Connection | None = None
        self._session: aiohttp.ClientSession | None = None
        self._users: Counter[aiohttp.ClientSession] = Counter()  # requests and streams under way in each session
        self._renewal = Renewal(load, self._use, self._clock)

    async def open(self) -> HttpTransport:
        """Loads credentials now, so that mistakes in them are reported at the start."""
        await self._renewal.first()
        return self

    @property
    def base_url(self) -> str:
        """Of the API server; empty before `open`."""
        return self._connection.base_url if self._connection is not None else ""

    async def send(self, request: HttpRequest) -> Answer:
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
                await self._renewal.after(self._clock.monotonic())
                session, connection = await self._ready()
                waiting.reschedule(None)
                return await self._send(request, session, connection, deadline)
        except TimeoutError as error:
            raise NoAnswerError("no turn to be sent in time", sent=False) from error

    async def _send(
        self, request: HttpRequest, session: aiohttp.ClientSession, connection: Connection, deadline: float
    ) -> Answer:
        left = deadline - asyncio.get_running_loop().time()
        if left <= 0:
            raise NoAnswerError("no turn to be sent in time", sent=False)
        limits = aiohttp.ClientTimeout(total=left)
        try:
            async with (
                self._using(session),
                session.request(
                    request.method,
                    url_of(connection.base_url, request),
                    data=request.body or None,
                    headers=headers(request, connection),
                    timeout=limits,
                    proxy=connection.proxy or None,
                    server_hostname=connection.server_name or None,
                    allow_redirects=False,
                ) as response,
            ):
                body = await read_body(response.content.iter_any(), LARGEST)
                return Answer(response.status, body, response.headers)
        except aiohttp.ClientConnectorError as error:
            raise NoAnswerError(describe(error), sent=False) from error
        except TimeoutError as error:
            raise NoAnswerError("no answer in time") from error
        except Malformed as error:
            raise NoAnswerError(str(error)) from None
        except UNREADABLE as error:
            raise NoAnswerError(describe(error)) from error

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[HttpStream]:
        session, connection = await self._ready()
        async with self._using(session), self._stream(request, session, connection) as stream:
            yield stream

    @asynccontextmanager
    async def _stream(
        self, request: HttpRequest, session: aiohttp.ClientSession, connection: Connection
    ) -> AsyncIterator[HttpStream]:
        limits = aiohttp.ClientTimeout(total=None, sock_connect=request.timeout)
        try:
            async with asyncio.timeout(request.timeout) as opening:
                response = await session.request(
                    request.method,
                    url_of(connection.base_url, request),
                    headers=headers(request, connection),
                    timeout=limits,
                    proxy=connection.proxy or None,
                    server_hostname=connection.server_name or None,
                    allow_redirects=False,
                )
                opening.reschedule(None)
        except TimeoutError as error:
            raise NoAnswerError("no answer in time") from error
        except UNREADABLE as error:
            raise NoAnswerError(describe(error)) from error
        try:
            if response.status == 401:
                await self._renewal.after(self._clock.monotonic())
            yield HttpStream(response, request.timeout)
        finally:
            abort(response)

    async def close(self) -> None:
        await self._renewal.stop()
        sessions = {*self._users, *([self._session] if self._session is not None else ())}
        self._session = None
        for session in sessions:
            await session.close()

    @asynccontextmanager
    async def _using(self, session: aiohttp.ClientSession) -> AsyncIterator[None]:
        """A session that was replaced is closed with its last user: a watch under it would wait for its idle time."""
        self._users[session] += 1
        try:
            yield
        finally:
            self._users[session] -= 1
            if not self._users[session]:
                del self._users[session]
                if session is not self._session:
                    await session.close()

    async def _ready(self) -> tuple[aiohttp.ClientSession, Connection]:
        await self._renewal.if_due()
        if self._session is None or self._connection is None:
            raise NoAnswerError("the transport is closed", sent=False)
        return self._session, self._connection

    async def _use(self, connection: Connection) -> None:
        """These credentials from now on. Nothing changes if they can't be used."""
        if self._session is None or self._connection is None or not connection.same_channel(self._connection):
            await self._reopen(connection)
        self._connection = connection

    async def _reopen(self, connection: Connection) -> None:
        connector = aiohttp.TCPConnector(limit=0, ssl=connection.tls(), keepalive_timeout=90)
        before = self._session
        self._session = aiohttp.ClientSession(
            connector=connector,
            auto_decompress=True,
            read_bufsize=2**18,
            requote_redirect_url=False,
        )
        if before is not None and before not in self._users:
            await before.close()


def url_of(base_url: str, request: HttpRequest) -> URL:
    """The path goes out as it is: the library would resolve `..` in it, and quote it once more."""
    query = f"?{urlencode(request.query)}" if request.query else ""
    return URL(f"{_encoded(base_url)}{request.path}{query}", encoded=True)


@lru_cache(maxsize=16)
def _encoded(base_url: str) -> str:
    return str(URL(base_url)).rstrip("/")


def headers(request: HttpRequest, connection: Connection) -> dict[str, str]:
    fields = {"Accept": request.accept, "User-Agent": "seamark"}
    if connection.token:
        fields["Authorization"] = f"Bearer {connection.token}"
    if request.body:
        fields["Content-Type"] = request.content_type
    return fields


def abort(response: aiohttp.ClientResponse) -> None:
    """Leaves a stream at once: a farewell over TLS would wait for a peer that may be gone."""
    if response.connection is not None and response.connection.transport is not None:
        response.connection.transport.abort()
    response.close()


def describe(error: BaseException) -> str:
    """A network error for a person: what the peer sent, and what the library calls it, is not repeated."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLError):
        return f"the server's certificate is not trusted: {error}"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"can't connect to {error.host}:{error.port} ({error.os_error.strerror or error.os_error})"
    if isinstance(error, aiohttp.ClientPayloadError | aiohttp.ServerDisconnectedError):
        return "the connection was closed before the answer was complete"
    if isinstance(error, aiohttp.ClientResponseError | ValueError):
        return "the answer is not HTTP"
    if isinstance(error, OSError):
        return error.strerror or str(error) or type(error).__name__
    return str(error) or type(error).__name__
