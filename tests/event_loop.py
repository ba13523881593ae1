"""The event loop of the tests: it closes only after the connections that are being closed.

A TLS connection is closed when its peer has answered, in a later iteration of its loop. Without that iteration its
socket is reported as unclosed, in whatever test the garbage collector runs next. A connection that nothing has closed
is still reported.
"""

from __future__ import annotations

import asyncio
import time
from asyncio.sslproto import SSLProtocol
from collections.abc import Mapping

LONGEST = 1.0  # seconds for the peer's part of closing a TLS connection


class Loop(asyncio.SelectorEventLoop):
    _transports: Mapping[int, asyncio.Transport]  # asyncio's own, by file descriptor

    def close(self) -> None:
        if not self.is_closed() and not self.is_running():
            deadline = time.monotonic() + LONGEST
            while self._being_closed() and time.monotonic() < deadline:
                self.run_until_complete(asyncio.sleep(0.005))
            for transport in self._being_closed():
                transport.abort()
            self.run_until_complete(asyncio.sleep(0))
        super().close()

    def _being_closed(self) -> list[asyncio.Transport]:
        return [transport for transport in self._transports.values() if _is_being_closed(transport)]


class Policy(asyncio.DefaultEventLoopPolicy):
    _loop_factory = Loop


def _is_being_closed(transport: asyncio.Transport) -> bool:
    if getattr(transport, "_sock", None) is None:  # closed, and not yet forgotten
        return False
    protocol = transport.get_protocol()
    if not isinstance(protocol, SSLProtocol):
        return transport.is_closing()
    application = protocol._app_transport
    return transport.is_closing() or (application is not None and application.is_closing())
