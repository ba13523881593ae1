"""HTTP for callers of the API and for monitoring, with a deadline for every phase of a connection.

| phase | bounded by |
|---|---|
| accepted, nothing sent; the TLS handshake | `head_seconds` each, by the listener |
| the first request's head | `head_seconds` |
| a request: its body, its work, the sending of its answer | `request_seconds`, then 408 or 503 |
| the sending of that 408 or 503, else the connection is closed | `LATE_SECONDS` |
| between two requests, and the next one's head | `idle_seconds` |

The size of heads and bodies is bounded while they arrive (`guardedhttp`). Bodies are not decompressed. The work for
requests is done in slices of the loop's time.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import cast

from aiohttp import web
from aiohttp.typedefs import Middleware

from seamark_edge.edge.errors import Refusal, request_incomplete, request_unfinished
from seamark_edge.edge.failures import Failures
from seamark_edge.edge.limits import Slot
from seamark_edge.edge.settings import EdgeSettings
from seamark_runtime.guardedhttp import SHARE, GuardedHandler, name_server
from seamark_runtime.pacing import SLICE, InputAccount
from seamark_runtime.requestlog import RequestLog
from seamark_runtime.timeslice import TimeSlice

STOP_SECONDS = 1.0  # for requests that are under way when the edge stops
LATE_SECONDS = 0.5  # for the answer that a request took too long

Next = Callable[[web.Request], Awaitable[web.StreamResponse]]
Refusing = Callable[[web.Request, Refusal], web.Response]

REFUSING: web.AppKey[Refusing] = web.AppKey(
    "refusing"
)  # how an application words what `bounded` refuses; plain text without it


class BoundedHandler(GuardedHandler):
    """One HTTP connection. It holds a slot, and is closed if the head of its first request is late.

    Its slot is unproven until `prove`: an application calls it for a request that it accepts.
    """

    __slots__ = ("_seconds", "_slot", "_timer")

    def __init__(
        self, server: web.Server, account: InputAccount, settings: EdgeSettings, slot: Slot, logger: RequestLog
    ) -> None:
        super().__init__(
            server,
            account,
            keepalive_timeout=settings.idle_seconds,
            lingering_time=min(settings.head_seconds, 10.0),
            auto_decompress=False,
            logger=logger,
            access_log=None,
        )
        self._slot = slot
        self._seconds = settings.head_seconds
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        late = cast("asyncio.WriteTransport", transport).abort
        self._slot.close = late
        self._timer = asyncio.get_running_loop().call_later(self._seconds, late)

    def connection_lost(self, exc: BaseException | None) -> None:
        self.begun()
        self._slot.release()
        super().connection_lost(exc)

    def begun(self) -> None:
        """A request has arrived, its head complete."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def prove(self) -> None:
        self._slot.prove()


def prove(request: web.Request) -> None:
    """The sender of this request may be here: its connection is not closed in favour of newer ones any more."""
    if isinstance(request.protocol, BoundedHandler):
        request.protocol.prove()


@web.middleware
async def open_to_all(request: web.Request, handler: Next) -> web.StreamResponse:
    """For an application without keys: every complete request proves its connection."""
    prove(request)
    return await handler(request)


def bounded(seconds: float) -> Middleware:
    """The outermost middleware: a request that is not answered within its time is refused, and ends its connection.

    Requests that come all at once are answered in slices of time.
    """
    time_slice = TimeSlice(SLICE)

    @web.middleware
    async def middleware(request: web.Request, handler: Next) -> web.StreamResponse:
        if isinstance(request.protocol, BoundedHandler):
            request.protocol.begun()
        answer: web.StreamResponse | None = None
        try:
            async with asyncio.timeout(seconds) as limit:
                await time_slice.turn()
                answer = await handler(request)
                return await _sent(request, answer)
        except TimeoutError:
            if not limit.expired():
                raise
        if answer is not None:  # its client does not read it
            raise _aborted(request)
        refusal = request_unfinished(seconds) if request.content.is_eof() else request_incomplete(seconds)
        late = request.app[REFUSING](request, refusal) if REFUSING in request.app else _plain(refusal)
        late.force_close()
        try:
            async with asyncio.timeout(LATE_SECONDS):
                return await _sent(request, late)
        except TimeoutError:
            raise _aborted(request) from None

    return middleware


async def _sent(request: web.Request, answer: web.StreamResponse) -> web.StreamResponse:
    name_server(answer)
    await answer.prepare(request)
    await answer.write_eof()
    return answer


def _plain(refusal: Refusal) -> web.Response:
    return web.Response(text=f"{refusal.message}\n", status=refusal.status)


def _aborted(request: web.Request) -> ConnectionAbortedError:
    """The connection is closed with what was not sent. An error of the client, for the log."""
    if request.transport is not None:
        request.transport.abort()
    return ConnectionAbortedError("the client did not read its answer in time")


def refuse_encoded(request: web.Request) -> None:
    """A compressed body is not read: a few bytes of it may stand for gigabytes."""
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise Refusal(415, "the body has a Content-Encoding: send it as it is", status=415)


class HttpServer:
    """An application behind a listener of the edge: `accept` takes the socket of a client over."""

    def __init__(
        self, app: web.Application, settings: EdgeSettings, context: ssl.SSLContext | None, failures: Failures
    ) -> None:
        app.middlewares.insert(0, bounded(settings.request_seconds))
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=STOP_SECONDS)
        self._settings = settings
        self._account = InputAccount(SHARE)
        self._log = RequestLog(lambda error: failures.report("http", error))
        self.context = context

    async def setup(self) -> None:
        await self._runner.setup()

    def protocol(self, slot: Slot) -> BoundedHandler:
        server = self._runner.server
        assert server is not None
        return BoundedHandler(server, self._account, self._settings, slot, self._log)

    async def close(self) -> None:
        await self._runner.cleanup()
