"""Listeners that look before they take: TLS by the name in the ClientHello, HTTP by the Host of the first request.

The first bytes are only peeked at, so the connection is handed on whole, to TLS or to the agent. Waiting for more
bytes costs nothing: the kernel wakes us when as many as were asked for are there (SO_RCVLOWAT).
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from seamark.edge.errors import Refusal, offline
from seamark.edge.public import PublicConnection, Router, SecureConnection
from seamark.edge.registry import Entry
from seamark.wire.clienthello import MAX_HELLO, NotTls, server_name

log = structlog.get_logger(__name__)

MAX_HEAD = 16 * 1024
UNRECOGNIZED_NAME = b"\x15\x03\x03\x00\x02\x02\x70"  # a fatal TLS alert
HANDSHAKE_SECONDS = 10.0
HANDSHAKE = 0x16  # the first byte of TLS


@dataclass(slots=True, eq=False)
class _Waiting:
    client: socket.socket
    timer: asyncio.TimerHandle
    source: str
    wanted: int = 1  # bytes that we asked to be woken at


@dataclass(slots=True, eq=False)
class Door:
    """A listening port. `look` is given what arrived so far: it answers how many bytes it wants to see, or it has
    decided, and returns the work of handing the socket on; it raises `Refusal` to close with `words`.

    - A client that does not say where it wants to go within the deadline is closed.
    - One address may have only so many undecided connections.
    """

    router: Router
    look: Callable[[bytes], int | Callable[[socket.socket], Awaitable[None]]]
    words: Callable[[Refusal], bytes]
    limit: int
    _listener: socket.socket | None = None
    _waiting: dict[int, _Waiting] | None = None
    _sources: dict[str, int] | None = None
    _tasks: set[asyncio.Task[None]] | None = None

    def open(self, host: str, port: int) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError:
            listener.close()
            raise
        listener.listen(4096)
        listener.setblocking(False)
        self._listener, self._waiting, self._sources, self._tasks = listener, {}, {}, set()
        asyncio.get_running_loop().add_reader(listener, self._accept)

    def close(self) -> None:
        """Stop accepting. Those who have not said where they want to go are closed; the others go on."""
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            self._listener = None
        for number in list(self._waiting or ()):
            self._drop(number)

    def _accept(self) -> None:
        assert self._listener is not None
        for _ in range(64):
            try:
                client, address = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                self._rest(error)
                return
            self._admit(client, address[0])

    def _rest(self, error: OSError) -> None:
        """No file descriptors left, most likely: asking again at once would only burn the CPU."""
        log.error("can't accept connections, trying again in a second", error=error.strerror)
        loop, listener = asyncio.get_running_loop(), self._listener
        assert listener is not None
        loop.remove_reader(listener)
        loop.call_later(1.0, lambda: listener.fileno() >= 0 and loop.add_reader(listener, self._accept))

    def _admit(self, client: socket.socket, source: str) -> None:
        assert self._waiting is not None
        assert self._sources is not None
        client.setblocking(False)
        held = self._sources.get(source, 0)
        if held + self.router.sources.get(source, 0) >= self.router.settings.connections_per_source:
            self.router.metrics.counted("door", "denied").inc()
            client.close()
            return
        loop = asyncio.get_running_loop()
        number = client.fileno()
        timer = loop.call_later(self.router.settings.head_seconds, self._drop, number)
        self._sources[source] = held + 1
        self._waiting[number] = _Waiting(client, timer, source)
        loop.add_reader(client, self._peek, number)

    def _peek(self, number: int) -> None:
        assert self._waiting is not None
        waiting = self._waiting[number]
        client = waiting.client
        try:
            data = client.recv(self.limit, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        try:
            found = self.look(data) if data else invalid_head()
            if isinstance(found, int):
                if len(data) < waiting.wanted or found > self.limit:
                    raise invalid_head_error()  # woken without what was asked for: the peer closed
                waiting.wanted = found
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, found)
                return
        except Refusal as refusal:
            self._refuse(number, refusal)
            return
        self._hand_on(waiting, self._release(number), found)

    def _hand_on(
        self, waiting: _Waiting, client: socket.socket, work: Callable[[socket.socket], Awaitable[None]]
    ) -> None:
        """From here on it is a connection like any other; until its TLS handshake is over, it counts here."""
        assert self._tasks is not None
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)

        async def run() -> None:
            try:
                await work(client)
            except (OSError, ssl.SSLError, TimeoutError) as error:
                log.debug("connection ended before it was handed on", error=str(error))
                client.close()
            finally:
                self._uncount(waiting.source)

        task = asyncio.get_running_loop().create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _refuse(self, number: int, refusal: Refusal) -> None:
        assert self._waiting is not None
        source = self._waiting[number].source
        client = self._release(number)
        self._uncount(source)
        self.router.metrics.counted("door", "refused").inc()
        try:
            if client.send(self.words(refusal)):
                client.shutdown(socket.SHUT_WR)
            client.recv(self.limit)
        except OSError:
            pass
        client.close()

    def _drop(self, number: int) -> None:
        if self._waiting and number in self._waiting:
            self._uncount(self._waiting[number].source)
            self._release(number).close()

    def _release(self, number: int) -> socket.socket:
        assert self._waiting is not None
        waiting = self._waiting.pop(number)
        waiting.timer.cancel()
        asyncio.get_running_loop().remove_reader(waiting.client)
        return waiting.client

    def _uncount(self, source: str) -> None:
        assert self._sources is not None
        left = self._sources.pop(source, 1) - 1
        if left > 0:
            self._sources[source] = left


def invalid_head() -> int:
    raise invalid_head_error()


def invalid_head_error() -> Refusal:
    return Refusal(400, "the connection does not start like one for this port")


def http_words(refusal: Refusal) -> bytes:
    body = f"{refusal.message}\n\n{refusal.name}\n".encode()
    reason = {404: "Not Found", 403: "Forbidden", 429: "Too Many Requests"}.get(refusal.status, "Bad Request")
    status = refusal.status if refusal.status in (403, 404, 429) else 400
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
    return (head + f"Ngrok-Error-Code: {refusal.name}\r\nConnection: close\r\n\r\n").encode() + body


def tls_words(_: Refusal) -> bytes:
    return UNRECOGNIZED_NAME


def http_door(router: Router, port: int) -> Door:
    """http:// endpoints by the Host of a connection's first request."""

    def look(data: bytes) -> int | Callable[[socket.socket], Awaitable[None]]:
        end = data.find(b"\r\n\r\n")
        if end < 0:
            if not data[:1].isalpha() or len(data) >= MAX_HEAD:
                raise invalid_head_error()
            return len(data) + 1
        key = _key(router, ("http",), host_of(data[:end]), port)

        async def hand_on(client: socket.socket) -> None:
            loop = asyncio.get_running_loop()
            await loop.connect_accepted_socket(lambda: PublicConnection(router, key, http_words), client)

        return hand_on

    return Door(router, look, http_words, MAX_HEAD)


def tls_door(router: Router, port: int, context_of: Callable[[str, Entry], ssl.SSLContext]) -> Door:
    """tls:// and https:// endpoints by server name; TLS ends here, or is passed through to the agent."""

    def look(data: bytes) -> int | Callable[[socket.socket], Awaitable[None]]:
        try:
            host = server_name(data)
        except NotTls as error:
            raise Refusal(400, str(error)) from error
        if isinstance(host, int):
            return host
        key = _key(router, ("tls", "https"), host, port)
        group = router.registry.find(key)
        assert group is not None
        entry = group.entries[0]
        context = context_of(host, entry) if entry.terminate else None
        words = http_words if entry.url.scheme == "https" else tls_words if context is None else _nothing

        async def hand_on(client: socket.socket) -> None:
            loop = asyncio.get_running_loop()
            deadline = HANDSHAKE_SECONDS if context else None
            kind = SecureConnection if context else PublicConnection
            await loop.connect_accepted_socket(
                lambda: kind(router, key, words, host), client, ssl=context, ssl_handshake_timeout=deadline
            )

        return hand_on

    return Door(router, look, tls_words, MAX_HELLO)


def inner_door(
    router: Router, factory: Callable[[], asyncio.BaseProtocol], context: Callable[[], ssl.SSLContext]
) -> Door:
    """For agents and forwarders: TLS for everybody, but only once the client has started it.

    A silent connection costs a socket and a timer here; the TLS machinery, far bigger, comes with the first byte.
    """

    def look(data: bytes) -> int | Callable[[socket.socket], Awaitable[None]]:
        if data[0] != HANDSHAKE:
            raise invalid_head_error()

        async def hand_on(client: socket.socket) -> None:
            await asyncio.get_running_loop().connect_accepted_socket(
                factory, client, ssl=context(), ssl_handshake_timeout=router.settings.head_seconds
            )

        return hand_on

    return Door(router, look, _nothing, 1)


def host_of(head: bytes) -> str:
    """The host that the first request names, without its port."""
    for line in head.split(b"\r\n")[1:]:
        name, colon, value = line.partition(b":")
        if colon and name.strip().lower() == b"host":
            host = value.strip().decode("ascii", "replace").lower()
            return host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() and ":" in host else host
    raise invalid_head_error()


def _key(router: Router, schemes: tuple[str, ...], host: str, port: int) -> str:
    for scheme in schemes:
        group = router.registry.find_host(scheme, host, port)
        if group is not None:
            return group.entries[0].url.key
    raise offline(f"{schemes[0]}://{host[:253]}")


def _nothing(_: Refusal) -> bytes:
    return b""
