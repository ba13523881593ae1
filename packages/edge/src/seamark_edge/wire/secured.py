"""TLS inside a stream: the server's end, between a stream of a session and the handler of its plain bytes.

No I/O: the stream brings and takes the records, OpenSSL works on memory.
"""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable

from seamark_edge.wire.muxado import Code, Handler
from seamark_edge.wire.muxado.frames import Bytes
from seamark_edge.wire.splice import Channel

READ = 64 * 1024


class SecuredStream:
    """A handler towards the stream, a channel towards the inner handler.

    - `shaken` is called once, when the handshake is over and the client is who it must be; nothing of the client's
      reaches the inner handler before.
    - A handshake that fails ends the stream after the alert; the inner handler gets `lost`.
    - The peer gets credit for its records when the plain bytes in them are passed on.
    """

    __slots__ = (
        "_early",
        "_finished",
        "_incoming",
        "_inner",
        "_outgoing",
        "_over",
        "_owed",
        "_plain",
        "_shaken",
        "_tls",
        "stream",
    )

    def __init__(self, stream: Channel, context: ssl.SSLContext, inner: Handler, shaken: Callable[[], None]) -> None:
        self.stream = stream
        self._inner = inner
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._shaken: Callable[[], None] | None = shaken
        self._early: list[Bytes] = []  # written before the handshake was over
        self._owed = 0  # bytes of records, not yet credited
        self._plain = 0  # plain bytes with the inner handler, not yet passed on
        self._finished = False
        self._over = False  # the client has ended

    # The stream's side

    def received(self, data: Bytes) -> None:
        if self._over:
            return  # behind the end that the client itself set, or behind a failure: never credited
        self._owed += len(data)
        self._incoming.write(data)
        try:
            if self._shaken is not None and not self._shake():
                self._settle()
                return
            self._read()
        except ssl.SSLError as error:
            self._fail(error)
            return
        self._send()
        self._settle()

    def ended(self) -> None:
        if not self._over:
            self._over = True
            self._inner.ended()

    def lost(self, code: int) -> None:
        self._inner.lost(code)

    def writable(self) -> None:
        self._inner.writable()

    # The inner handler's side

    def write(self, data: Bytes) -> bool:
        if self._shaken is not None:
            self._early.append(data)
            return False
        try:
            self._tls.write(data)
        except ssl.SSLError as error:
            self._fail(error)
            return True
        return self._send()

    def finish(self) -> None:
        if self._finished:
            return
        self._finished = True
        with contextlib.suppress(ssl.SSLError, ValueError):
            self._tls.unwrap()  # says goodbye; the peer's goodbye is not waited for
        self._send()
        self.stream.finish()

    def credit(self, count: int) -> None:
        self._plain -= count
        self._settle()

    def reset(self, code: int) -> None:
        self.stream.reset(code)

    def abandon(self) -> None:
        self.stream.abandon()

    def forget(self) -> None:
        self.stream.forget()

    @property
    def open(self) -> bool:
        return self.stream.open

    # Inside

    def _shake(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._send()
            return False
        shaken, self._shaken = self._shaken, None
        early, self._early = self._early, []
        self._send()
        for data in early:
            self.write(data)
        if shaken is not None:
            shaken()
        return True

    def _read(self) -> None:
        while not self._over:
            try:
                data = self._tls.read(READ)
            except ssl.SSLWantReadError:
                return
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                data = b""
            if not data:
                self.ended()
                return
            self._plain += len(data)
            self._inner.received(data)

    def _send(self) -> bool:
        data = self._outgoing.read()
        return self.stream.write(data) if data else True

    def _settle(self) -> None:
        """Credit the records whose plain bytes are passed on."""
        if self._plain <= 0 and self._owed:
            owed, self._owed = self._owed, 0
            self.stream.credit(owed)

    def _fail(self, _: ssl.SSLError) -> None:
        self._over = True
        self._send()
        self.stream.finish()
        self._inner.lost(Code.PROTOCOL)
