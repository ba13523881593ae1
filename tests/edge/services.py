"""Small services behind the tunnels, and ports for them."""

from __future__ import annotations

import hashlib
import os
import random
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Talk = Callable[[socket.socket], None]


_given: set[int] = set()  # a port is given once: no other process may take it while its owner restarts


def free_port(count: int = 1) -> int:
    """The first of so many free ports in a row, below the range that the kernel hands out by itself.

    Parallel workers of one test run keep to parts of their own.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 4
    low = 15000 + worker * 4000
    for _ in range(1000):
        first = random.randrange(low, low + 4000 - count)
        ports = set(range(first, first + count))
        if not ports & _given and all(_is_free(port) for port in ports):
            _given.update(ports)
            return first
    raise AssertionError("no free port")


def give_back(first: int, count: int = 1) -> None:
    """The former owner of these ports has ended."""
    _given.difference_update(range(first, first + count))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def eventually(
    condition: Callable[[], object], what: str, seconds: float = 30.0, told: Callable[[], str] = str
) -> None:
    """Poll until it holds; the deadline fails the test with a message, and with the details of `told`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if condition():
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {what}\n{told()}")


@contextmanager
def service(talk: Talk) -> Iterator[str]:
    """A TCP service on loopback; gives its address."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):  # clients come and go
                talk(self.request)

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True
        request_queue_size = 256
        block_on_close = False

    port = free_port()
    with Server(("127.0.0.1", port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield f"127.0.0.1:{port}"
        server.shutdown()
        thread.join()
    give_back(port)


def echo(connection: socket.socket) -> None:
    while data := connection.recv(65536):
        connection.sendall(data)


def digest(connection: socket.socket) -> None:
    """Reads to the end, then answers with the digest: needs a half-close that travels."""
    total = hashlib.sha256()
    while data := connection.recv(65536):
        total.update(data)
    connection.sendall(total.hexdigest().encode())


def says(words: bytes) -> Talk:
    def talk(connection: socket.socket) -> None:
        connection.sendall(words)

    return talk


def sends(size: int) -> Talk:
    """Sends so many bytes after the first one that comes in."""

    def talk(connection: socket.socket) -> None:
        connection.recv(1)
        block = bytes(range(256)) * 256
        for at in range(0, size, len(block)):
            connection.sendall(block[: min(len(block), size - at)])

    return talk


def http(body: bytes) -> Talk:
    def talk(connection: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            data = connection.recv(65536)
            if not data:
                return
            head += data
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)

    return talk


def http_echo(connection: socket.socket) -> None:
    """Answers every request of a connection with its own body."""
    data = b""
    while True:
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65536)
            if not piece:
                return
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        length = int(fields[b"content-length"])
        while len(body) < length:
            body += connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length + body[:length])
        data = body[length:]


def dial(url: str, timeout: float = 10.0) -> socket.socket:
    host, _, port = url.partition("://")[2].rpartition(":")
    return socket.create_connection((host, int(port)), timeout)


def read_all(connection: socket.socket) -> bytes:
    data = bytearray()
    while piece := connection.recv(65536):
        data += piece
    return bytes(data)


class Wire:
    """A way to an address that can be cut. New connections work at once, or when the address has a listener again."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", free_port()))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def cut(self) -> None:
        for end in self._open:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._open.clear()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        port: int = self._listener.getsockname()[1]
        self._listener.close()
        give_back(port)
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._join, args=(near,), daemon=True).start()

    def _join(self, near: socket.socket) -> None:
        deadline = time.monotonic() + 30
        while True:
            try:
                far = socket.create_connection(self._target)
                break
            except OSError:
                if time.monotonic() > deadline:
                    near.close()
                    return
                time.sleep(0.05)
        self._open += [near, far]
        for one, other in ((near, far), (far, near)):
            threading.Thread(target=self._pump, args=(one, other), daemon=True).start()

    @staticmethod
    def _pump(one: socket.socket, other: socket.socket) -> None:
        """An end travels as an end, a reset as the end of both: who waits at the other side must learn of it."""
        try:
            while data := one.recv(65536):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            for end in (one, other):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
