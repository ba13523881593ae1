"""A proxy between a client and an API server that can do what networks and servers do.

- TLS ends here and begins anew, so requests can be seen; answers pass as they come.
- `answer` replies in the server's place, `hold` keeps a request (or its answer) until it is released, `cut` ends
  connections, in the middle of a line if wanted, `freeze` lets them fall silent without an end.
- Every request is remembered with the moment of its arrival.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from seamark_cluster.real.pki import Pki
from seamark_cluster.real.plane import ControlPlane


@dataclass(frozen=True)
class Arrived:
    method: str
    path: str
    query: dict[str, str]
    moment: float

    @property
    def watch(self) -> bool:
        return self.query.get("watch") == "1"

    @property
    def writes(self) -> bool:
        return self.method != "GET"


Match = Callable[[Arrived], bool]


def reply(code: int, body: Any, headers: dict[str, str] | None = None) -> bytes:
    """A whole HTTP answer."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {code} X", "Content-Type: application/json", f"Content-Length: {len(content)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def status(code: int, reason: str, message: str = "the proxy says so") -> bytes:
    headers = {"Retry-After": "1"} if code == 429 else {}
    return reply(code, {"kind": "Status", "code": code, "reason": reason, "message": message}, headers)


@dataclass
class Hold:
    """A request that waits here, until `release`."""

    match: Match
    answer_too_late: bool = False  # the request goes on at once; its answer waits
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    def release(self) -> None:
        self.released.set()


@dataclass(eq=False)
class _Pair:
    """One connection of a client, and ours to the server for it."""

    writers: list[asyncio.StreamWriter]
    request: Arrived | None = None
    flowing: asyncio.Event = field(default_factory=asyncio.Event)
    answering: asyncio.Event = field(default_factory=asyncio.Event)
    cut_at_next_piece: bool = False

    def __post_init__(self) -> None:
        self.flowing.set()
        self.answering.set()

    def abort(self) -> None:
        for writer in self.writers:
            writer.transport.abort()

    async def end(self) -> None:
        self.abort()
        for writer in self.writers:
            with contextlib.suppress(OSError):
                await writer.wait_closed()


class Proxy:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.arrived: list[Arrived] = []
        self._answers: list[tuple[Match, bytes, list[int]]] = []
        self._holds: list[Hold] = []
        self._pairs: set[_Pair] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.url = ""

    @classmethod
    @asynccontextmanager
    async def to(cls, plane: ControlPlane) -> AsyncIterator[Proxy]:
        proxy = cls(plane)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*Pki(plane.directory / "pki").server("proxy", ("127.0.0.1",)))
        server = await asyncio.start_server(proxy._accept, "127.0.0.1", 0, ssl=context)
        proxy.url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield proxy
        finally:
            server.close()
            while proxy._pairs:
                proxy.cut()
                await asyncio.sleep(0.001)
            for task in list(proxy._tasks):
                task.cancel()
            await asyncio.gather(*proxy._tasks, return_exceptions=True)

    # ---- what can be done to the traffic

    def answer(self, match: Match, answer: bytes, times: int = 1) -> None:
        """The next so many requests that match are answered so; the server does not see them."""
        self._answers.append((match, answer, [times]))

    def clear(self) -> None:
        """From now on the server answers."""
        self._answers.clear()

    def hold(self, match: Match, *, answer_too_late: bool = False) -> Hold:
        """The next request that matches waits here."""
        held = Hold(match, answer_too_late)
        self._holds.append(held)
        return held

    def cut(self, match: Match = lambda _arrived: True) -> None:
        for pair in list(self._pairs):
            if pair.request is None or match(pair.request):
                pair.abort()

    def cut_mid_line(self, match: Match) -> None:
        """Connections end in the middle of the next piece that comes."""
        for pair in self._pairs:
            if pair.request is not None and match(pair.request):
                pair.cut_at_next_piece = True

    def freeze(self, match: Match) -> int:
        """Connections stop carrying data, without being closed. New ones work. Returns the number of frozen ones."""
        frozen = [pair for pair in self._pairs if pair.request is not None and match(pair.request)]
        for pair in frozen:
            pair.flowing.clear()
        return len(frozen)

    def count(self, match: Match) -> int:
        return sum(match(arrived) for arrived in self.arrived)

    # ---- how it works

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        trust = ssl.create_default_context(cafile=str(self._plane.ca))
        address = urlsplit(self._plane.url)
        try:
            upstream = await asyncio.open_connection(address.hostname, address.port, ssl=trust)
        except OSError:
            writer.transport.abort()
            return
        pair = _Pair([writer, upstream[1]])
        self._pairs.add(pair)
        tasks = [self._start(self._upwards(pair, reader)), self._start(self._downwards(pair, upstream[0]))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await pair.end()
            self._pairs.discard(pair)

    def _start(self, work: Any) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _upwards(self, pair: _Pair, reader: asyncio.StreamReader) -> None:
        client, server = pair.writers
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(_length(head))
            pair.request = arrived = _parse(head)
            self.arrived.append(arrived)
            await pair.flowing.wait()
            if (answer := self._answer_to(arrived)) is not None:
                client.write(answer)
                continue
            if held := next((hold for hold in self._holds if hold.match(arrived)), None):
                self._holds.remove(held)
                await self._keep(pair, held)
            server.write(head + body)
            await server.drain()

    async def _keep(self, pair: _Pair, held: Hold) -> None:
        held.reached.set()
        if not held.answer_too_late:
            await held.released.wait()
            return
        pair.answering.clear()

        async def let_go() -> None:
            await held.released.wait()
            pair.answering.set()

        self._start(let_go())

    async def _downwards(self, pair: _Pair, reader: asyncio.StreamReader) -> None:
        client = pair.writers[0]
        while piece := await reader.read(65536):
            await pair.flowing.wait()
            await pair.answering.wait()
            if pair.cut_at_next_piece:
                client.write(piece[: len(piece) // 2])
                await client.drain()
                return
            client.write(piece)
            await client.drain()

    def _answer_to(self, arrived: Arrived) -> bytes | None:
        for match, answer, left in self._answers:
            if left[0] > 0 and match(arrived):
                left[0] -= 1
                return answer
        return None


async def _quietly(work: Any) -> None:
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        await work


def _length(head: bytes) -> int:
    name = b"content-length:"
    return next((int(line[len(name) :]) for line in head.lower().split(b"\r\n") if line.startswith(name)), 0)


def _parse(head: bytes) -> Arrived:
    method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
    parts = urlsplit(target)
    query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
    return Arrived(method, parts.path, query, time.monotonic())
