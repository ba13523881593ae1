"""HTTP servers whose clients are not trusted: aiohttp, with limits that hold while the bytes arrive.

| what | limit |
|---|---|
| the head of a request | `MAX_HEAD` bytes, then 431; 128 fields, 8 KiB each as the request line, then 400 |
| what follows a head that was refused | is dropped, and not read beyond `MAX_DRAINED` |
| requests that were sent behind one whose answer is an error | are not answered |
| a body on the wire, with the framing of its chunks | `most_body`, then the connection is closed |
| the rest of a body whose request is answered already | `MAX_DRAINED`, then the connection is closed |
| the time that the input of all connections takes | slices, and a share of the loop's time (`pacing`) |
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from aiohttp import web
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from aiohttp.web_protocol import RequestHandler, _ErrInfo
from aiohttp.web_request import BaseRequest

from seamark_runtime.pacing import Bytes, InputAccount, PacedInput
from seamark_runtime.requestlog import RequestLog

MAX_HEAD = 64 * 1024
MAX_DRAINED = 64 * 1024
MAX_BODY = 2 * 1024 * 1024  # on the wire; applications have smaller limits of their own
READ_SECONDS = 0.5  # for a client to read why its head was refused
PIECE = 16 * 1024  # bytes that are parsed between two looks at the limits
SHARE = 0.25  # of the loop's time, for input that costs more than its size
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class GuardedHandler(RequestHandler):
    """One HTTP connection within the limits of this file. Those of one server share an account."""

    __slots__ = ("_answered", "_body", "_head", "_input", "_most_body", "_payload", "_refused", "_rest")

    def __init__(
        self, server: web.Server, account: InputAccount, *, most_body: int = MAX_BODY, **settings: Any
    ) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), **settings)
        self._input = PacedInput(account, self._handle, self._resume)
        self._most_body = most_body
        self._head = 0  # bytes of the head that is arriving
        self._body = 0  # bytes of the body that is arriving; of its rest, once its request is answered
        self._payload: StreamReader = EMPTY_PAYLOAD  # of the last request that arrived
        self._answered: StreamReader | None = None  # of the last request that was answered
        self._rest = b""  # received, not yet parsed
        self._refused = False  # nothing more is read

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if self.transport is not None:
            self._input.connected(self.transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._input.close()
        self._rest = b""
        if self._waiter is not None and self._waiter.done() and self._task_handler is not None:
            self._task_handler.cancel()  # it was woken up for a request, and would look for what is gone
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            self._discard(data)
        elif data:
            self._input.received(data)
        else:
            self._piece(data)  # aiohttp goes on with what its parser holds

    async def finish_response(
        self, request: BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        if resp.status >= HTTPStatus.BAD_REQUEST and self._messages:
            resp.force_close()  # requests that were sent without waiting for this answer are not worth one
        name_server(resp)
        finished = await super().finish_response(request, resp, start_time)
        self._answered, self._body = request.content, 0
        return finished

    def _handle(self, data: Bytes, enough: Callable[[], bool]) -> bool:
        if self._rest:
            data, self._rest = self._rest + bytes(data), b""
        view = memoryview(data)
        for at in range(0, len(view), PIECE):
            self._piece(bytes(view[at : at + PIECE]))
            if self._refused:
                return True
            if at + PIECE < len(view) and enough():
                self._rest = bytes(view[at + PIECE :])
                return False
        return True

    def _piece(self, data: bytes) -> None:
        if self._refused:
            return
        requests, body = self._request_count, not self._payload.is_eof()
        super().data_received(data)
        if self._upgraded or self._payload_parser is not None:
            return
        if self._request_count != requests:
            self._arrived()
        elif body:
            self._body += len(data)
            if self._body > (MAX_DRAINED if self._answered is self._payload else self._most_body):
                self._refuse()
        else:
            self._head += len(data)
            if self._head > MAX_HEAD:
                self._refuse(TOO_LARGE)

    def _arrived(self) -> None:
        """One request or several, or one that aiohttp answers with an error."""
        message, self._payload = self._messages[-1]
        self._head = self._body = 0
        if isinstance(message, _ErrInfo):
            message.exc.__traceback__ = None  # it holds all that was received
            self._refused = True

    def _refuse(self, response: bytes = b"") -> None:
        self._refused, self._body = True, 0
        if self.transport is None:
            return
        if response and not self._messages and not self._request_in_progress:
            self.transport.write(response)
            asyncio.get_running_loop().call_later(READ_SECONDS, self.transport.close)
        else:
            self.transport.close()

    def _discard(self, data: bytes) -> None:
        """A connection that is closed with bytes unread is reset, and its client may not see the answer: read a few."""
        self._body += len(data)
        if self._body > MAX_DRAINED:
            self._pause_transport_reading()

    def _resume(self) -> None:
        if self.transport is not None and not (self._refused or self._reading_paused or self._buffer_paused):
            self.transport.resume_reading()


def name_server(response: web.StreamResponse) -> None:
    """Responses do not tell which library in which version made them."""
    if not response.prepared:
        response.headers.setdefault("Server", "seamark")


class GuardedServer:
    """An application at an address, from `start` to `close`. Applications that take larger bodies set `most_body`."""

    def __init__(self, app: web.Application, *, most_body: int = MAX_BODY, **settings: Any) -> None:
        self._runner = web.AppRunner(app, access_log=None, **settings)
        self._account = InputAccount(SHARE)
        self._most_body = most_body
        self._log = RequestLog()
        self._listening: asyncio.Server | None = None

    async def start(self, host: str | None, port: int, context: ssl.SSLContext | None = None) -> int:
        """Listens, and gives the port (0: any). What it raises is for the caller, who closes."""
        await self._runner.setup()
        self._listening = await asyncio.get_running_loop().create_server(
            self._handler, host, port, ssl=context, backlog=128
        )
        bound: int = self._listening.sockets[0].getsockname()[1]
        return bound

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        await self._runner.cleanup()

    def _handler(self) -> GuardedHandler:
        server = self._runner.server
        assert server is not None
        return GuardedHandler(
            server,
            self._account,
            most_body=self._most_body,
            logger=self._log,
            access_log=None,
        )
