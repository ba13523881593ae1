"""A webhook provider that misbehaves on demand: written on bare sockets, so that it can answer anything."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from tests.dns.conversations import Conversations

MEDIA = "application/external.dns.webhook+json;version=1"
GOOD = "good"


@dataclass
class Reply:
    """An answer before it is written. `write` replaces the way in which the body is sent."""

    status: int = 200
    body: bytes = b""
    media: str = MEDIA
    extra: str = ""
    length: int | None = None
    write: Callable[[asyncio.StreamWriter, bytes], Awaitable[None]] | None = None


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    body: bytes

    @property
    def route(self) -> str:
        return f"{self.method} {self.path}"


Mode = Callable[[Asked, Reply], None]  # changes the good answer into another


class Hook(Conversations):
    """Holds records as a good provider does; `mode` changes what it answers, and `asked` counts requests by mode."""

    def __init__(self) -> None:
        super().__init__()
        self.mode: Mode | None = None
        self.asked: Counter[str] = Counter()
        self.times: list[tuple[str, float]] = []
        self.records: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.filter: Any = {"include": ["example.test"]}

    def behave(self, mode: Mode | None = None) -> None:
        self.mode = mode
        self.asked.clear()
        self.times.clear()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        async with self.listening(limit=2**20) as port:
            yield f"http://127.0.0.1:{port}"

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                asked = await _request(reader)
                self.asked[asked.route] += 1
                self.times.append((asked.route, asyncio.get_running_loop().time()))
                reply = self._good(asked)
                if self.mode is not None:
                    self.mode(asked, reply)
                if asked.route == "POST /records" and reply.status == 204:
                    self._change(json.loads(asked.body))
                await _send(writer, reply)
        finally:
            writer.close()

    def _good(self, asked: Asked) -> Reply:
        match asked.route:
            case "GET /":
                return Reply(body=json.dumps(self.filter).encode())
            case "GET /records":
                return Reply(body=json.dumps(list(self.records.values())).encode())
            case "POST /adjustendpoints":
                return Reply(body=asked.body)
            case _:
                return Reply(status=204)

    def _change(self, changes: dict[str, Any]) -> None:
        for gone in changes.get("delete") or ():
            self.records.pop(_slot(gone), None)
        for new in [*(changes.get("create") or ()), *(changes.get("updateNew") or ())]:
            self.records[_slot(new)] = new


def _slot(endpoint: dict[str, Any]) -> tuple[str, str, str]:
    return endpoint["dnsName"], endpoint["recordType"], endpoint.get("setIdentifier", "")


async def _request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    while headers.get("transfer-encoding") == "chunked":
        size = int((await reader.readline()).strip(), 16)
        body += await reader.readexactly(size)
        await reader.readline()
        if not size:
            break
    return Asked(method, path, body)


async def _send(writer: asyncio.StreamWriter, reply: Reply) -> None:
    length = len(reply.body) if reply.length is None else reply.length
    head = f"HTTP/1.1 {reply.status} X\r\nContent-Type: {reply.media}\r\nContent-Length: {length}\r\n{reply.extra}\r\n"
    writer.write(head.encode())
    if reply.write is not None:
        await reply.write(writer, reply.body)
    else:
        writer.write(reply.body)
    await writer.drain()
