"""Listeners that look before they take: TLS by the name in the ClientHello, HTTP by the Host of the first request.

The first bytes are only peeked at, so the connection is handed on whole, to TLS or to the agent. Waiting for more
bytes costs nothing: the kernel wakes us when as many as were asked for are there (SO_RCVLOWAT).
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import structlog

from seamark_edge.edge.errors import Refusal, offline
from seamark_edge.edge.http import HttpServer
from seamark_edge.edge.limits import ConnectionLimit, Slot
from seamark_edge.edge.public import PublicConnection, SecureConnection
from seamark_edge.edge.registry import Entry
from seamark_edge.edge.routing import Router
from seamark_edge.edge.urls import SHARED_PORT
from seamark_edge.wire.clienthello import MAX_HELLO, NotTls, server_name

log = structlog.get_logger(__name__)

MAX_HEAD = 16 * 1024
UNRECOGNIZED_NAME = b"\x15\x03\x03\x00\x02\x02\x70"  # a fatal TLS alert
PLAIN_HTTP = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")  # the first byte of a request

Work = Callable[[socket.socket, Slot], Awaitable[None]]


@dataclass(slots=True, eq=False)
class _Waiting:
    client: socket.socket
    timer: asyncio.TimerHandle
    slot: Slot
    wanted: int = 1  # bytes at which we are called


@dataclass(slots=True, eq=False)
class Listener:
    """A listening port. `look` is given what arrived so far: it answers how many bytes it wants to see, or it has
    decided, and returns the work of handing the socket on; it raises `Refusal` to close with `refusal_response`.

    - A client that does not name its endpoint within the deadline is closed.
    - A connection takes one of `slots` when it is accepted. The code that serves it proves the slot and gives it back;
      until it is proven, the connection may be closed in favour of a newer one.
    - Whatever is raised while a connection is looked at ends that connection.
    """

    router: Router
    look: Callable[[bytes], int | Work]
    refusal_response: Callable[[Refusal], bytes]
    limit: int
    slots: ConnectionLimit
    _socket: socket.socket | None = None
    _waiting: dict[int, _Waiting] | None = None
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
        self._socket, self._waiting, self._tasks = listener, {}, set()
        asyncio.get_running_loop().add_reader(listener, self._accept)

    def close(self) -> None:
        """Stops accepting. Connections without a known destination are closed; the others go on."""
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None
        for number in list(self._waiting or ()):
            self._drop(number)

    def _accept(self) -> None:
        assert self._socket is not None
        for _ in range(64):
            try:
                client, address = self._socket.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                self._rest(error)
                return
            self._admit(client, address[0])

    def _rest(self, error: OSError) -> None:
        """No file descriptors left, most likely: asking again at once would only burn the CPU."""
        log.error("can't accept connections, trying again in a second", error=error.strerror)
        loop, listener = asyncio.get_running_loop(), self._socket
        assert listener is not None
        loop.remove_reader(listener)
        loop.call_later(1.0, lambda: listener.fileno() >= 0 and loop.add_reader(listener, self._accept))

    def _admit(self, client: socket.socket, source: str) -> None:
        assert self._waiting is not None
        client.setblocking(False)
        slot = self.slots.take(source)
        if slot is None:
            self.router.metrics.counted("door", "denied").inc()
            client.close()
            return
        loop = asyncio.get_running_loop()
        number = client.fileno()
        timer = loop.call_later(self.router.settings.head_seconds, self._drop, number)
        self._waiting[number] = _Waiting(client, timer, slot)
        slot.close = lambda: self._drop(number)
        loop.add_reader(client, self._peek, number)

    def _peek(self, number: int) -> None:
        assert self._waiting is not None
        waiting = self._waiting[number]
        try:
            work = self._looked(waiting)
        except Refusal as refusal:
            self._refuse(number, refusal)
        except Exception as error:
            self.router.failures.report("listener", error)
            self._drop(number)
        else:
            if work is not None:
                self._hand_on(waiting, self._release(number), work)

    def _looked(self, waiting: _Waiting) -> Work | None:
        """What is to be done with the connection, once enough of it has arrived to tell."""
        client = waiting.client
        try:
            data = client.recv(self.limit, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            data = b""
        found = self.look(data) if data else invalid_head()
        if not isinstance(found, int):
            return found
        if len(data) < waiting.wanted or found > self.limit:
            raise invalid_head_error()  # woken without what was asked for: the peer closed
        waiting.wanted = found
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, found)
        return None

    def _hand_on(self, waiting: _Waiting, client: socket.socket, work: Work) -> None:
        """From here on it is a connection like any other. Until its TLS handshake is over, its slot is ours."""
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
        slot = waiting.slot
        slot.close = client.close

        async def run() -> None:
            try:
                await work(client, slot)
            except (OSError, ssl.SSLError, TimeoutError) as error:
                log.debug("connection ended before it was handed on", error=str(error))
            except asyncio.CancelledError:
                log.debug("connection closed in favour of a newer one")
            except Exception as error:
                self.router.failures.report("handshake", error)
            else:
                return
            client.close()
            slot.release()

        self.router.pacer.add(lambda: None if slot.released else self._start(run(), slot))

    def _start(self, work: Coroutine[Any, Any, None], slot: Slot) -> None:
        assert self._tasks is not None
        slot.start()
        task = asyncio.get_running_loop().create_task(work)
        slot.close = lambda: _cancel(task)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _refuse(self, number: int, refusal: Refusal) -> None:
        assert self._waiting is not None
        self._waiting[number].slot.release()
        client = self._release(number)
        self.router.metrics.counted("door", "refused").inc()
        try:
            if client.send(self.refusal_response(refusal)):
                client.shutdown(socket.SHUT_WR)
            client.recv(self.limit)
        except OSError:
            pass
        client.close()

    def _drop(self, number: int) -> None:
        if self._waiting and number in self._waiting:
            self._waiting[number].slot.release()
            self._release(number).close()

    def _release(self, number: int) -> socket.socket:
        assert self._waiting is not None
        waiting = self._waiting.pop(number)
        waiting.timer.cancel()
        asyncio.get_running_loop().remove_reader(waiting.client)
        return waiting.client


def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()


def invalid_head() -> int:
    raise invalid_head_error()


def invalid_head_error() -> Refusal:
    return Refusal(400, "the connection does not start like one for this port")


def http_refusal(refusal: Refusal) -> bytes:
    body = f"{refusal.message}\n\n{refusal.name}\n".encode()
    reasons = {404: "Not Found", 403: "Forbidden", 429: "Too Many Requests", 503: "Service Unavailable"}
    status = refusal.status if refusal.status in reasons else 400
    reason = reasons.get(refusal.status, "Bad Request")
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
    return (head + f"Ngrok-Error-Code: {refusal.name}\r\nConnection: close\r\n\r\n").encode() + body


def tls_refusal(_: Refusal) -> bytes:
    return UNRECOGNIZED_NAME


def http_listener(router: Router, port: int) -> Listener:
    """http:// endpoints by the Host of a connection's first request."""

    def look(data: bytes) -> int | Work:
        end = data.find(b"\r\n\r\n")
        if end < 0:
            if not data[:1].isalpha() or len(data) >= MAX_HEAD:
                raise invalid_head_error()
            return len(data) + 1
        key = _key(router, ("http",), host_of(data[:end]), port)

        async def hand_on(client: socket.socket, slot: Slot) -> None:
            loop = asyncio.get_running_loop()
            await loop.connect_accepted_socket(lambda: PublicConnection(router, key, http_refusal, slot=slot), client)

        return hand_on

    return Listener(router, look, http_refusal, MAX_HEAD, router.clients)


def tls_listener(router: Router, port: int, context_of: Callable[[str, Entry], ssl.SSLContext]) -> Listener:
    """tls:// and https:// endpoints by server name; TLS ends here, or is passed through to the agent."""

    def look(data: bytes) -> int | Work:
        try:
            host = server_name(data)
        except NotTls as error:
            raise Refusal(400, str(error)) from error
        if isinstance(host, int):
            return host
        key = _key(router, SHARED_PORT, host, port)
        group = router.registry.find(key)
        assert group is not None
        entry = group.entries[0]
        context = context_of(host, entry) if entry.terminate else None
        refusal_response = http_refusal if entry.url.scheme == "https" else tls_refusal if context is None else _nothing

        async def hand_on(client: socket.socket, slot: Slot) -> None:
            loop = asyncio.get_running_loop()
            deadline = router.settings.head_seconds if context else None
            kind = SecureConnection if context else PublicConnection
            await loop.connect_accepted_socket(
                lambda: kind(router, key, refusal_response, host, slot),
                client,
                ssl=context,
                ssl_handshake_timeout=deadline,
            )

        return hand_on

    return Listener(router, look, tls_refusal, MAX_HELLO, router.clients)


def secured_listener(
    router: Router,
    factory: Callable[[Slot], asyncio.BaseProtocol],
    context: Callable[[], ssl.SSLContext],
    slots: ConnectionLimit,
) -> Listener:
    """For agents and forwarders: TLS for every connection, but only after its ClientHello has arrived.

    A connection without one costs a socket and a timer here; the TLS machinery, far bigger, comes with the hello. What
    a handshake costs is spent when it begins, so that those which arrive together are spread over turns of the loop.
    """

    def look(data: bytes) -> int | Work:
        if wanted := missing(data):
            return wanted

        async def hand_on(client: socket.socket, slot: Slot) -> None:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: factory(slot), client, ssl=context(), ssl_handshake_timeout=router.settings.head_seconds
            )

        return hand_on

    return Listener(router, look, _nothing, MAX_HELLO, slots)


def server_listener(router: Router, server: HttpServer, slots: ConnectionLimit) -> Listener:
    """For the API and the ops port: HTTP, with TLS (see `secured_listener`), or from the first byte on."""

    def look(data: bytes) -> int | Work:
        if server.context and (wanted := missing(data)):
            return wanted
        if not server.context and data[0] not in PLAIN_HTTP:
            raise invalid_head_error()

        async def hand_on(client: socket.socket, slot: Slot) -> None:
            deadline = router.settings.head_seconds if server.context else None
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: server.protocol(slot), client, ssl=server.context, ssl_handshake_timeout=deadline
            )

        return hand_on

    if server.context:
        return Listener(router, look, _nothing, MAX_HELLO, slots)
    return Listener(router, look, http_refusal, 1, slots)


def missing(data: bytes) -> int:
    """How many bytes of this ClientHello have to be seen; 0 if these are enough."""
    try:
        found = server_name(data)
    except NotTls as error:
        raise Refusal(400, str(error)) from error
    return found if isinstance(found, int) else 0


def host_of(head: bytes) -> str:
    """The host that the first request names, without its port. Agents must read the same one: there is exactly one.

    A request target in absolute form replaces the Host field (RFC 9112, 3.2.2).
    """
    hosts: list[str] = []
    first, *lines = head.split(b"\r\n")
    for line in lines:
        name, _, value = line.partition(b":")
        if not name or name.split() != [name]:  # spaces around a name, or a folded line, are read in different ways
            raise invalid_head_error()
        if name.lower() == b"host":
            hosts.append(value.strip().decode("ascii", "replace").lower())
    if len(hosts) != 1:
        raise invalid_head_error()
    host = _absolute(first) or hosts[0]
    return host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() and ":" in host else host


def _absolute(request_line: bytes) -> str:
    """The authority of the request target; "" if it is a path."""
    target = (*request_line.split(), b"", b"")[1].lower()
    if not target.startswith((b"http://", b"https://")):
        return ""
    authority = target.partition(b"//")[2].partition(b"/")[0].partition(b"?")[0].partition(b"#")[0]
    if not authority or b"@" in authority:
        raise invalid_head_error()
    return authority.decode("ascii", "replace")


def _key(router: Router, schemes: tuple[str, ...], host: str, port: int) -> str:
    group = router.registry.find_host(schemes, host, port)
    if group is None:
        raise offline(f"{schemes[0]}://{host[:253]}")
    return group.entries[0].url.key


def _nothing(_: Refusal) -> bytes:
    return b""
