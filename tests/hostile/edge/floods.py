"""Floods: as much of one kind of input as a peer can send, for a few seconds, at one port. Each is measured alone."""

from __future__ import annotations

import asyncio
import json
import ssl
import struct
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress

from seamark_edge.wire.muxado import WINDOW, data_header, goaway_frame, rst_frame, wndinc_frame
from seamark_edge.wire.muxado.frames import FIN, SYN
from seamark_edge.wire.tunnel import StreamType
from tests.edge.running import RunningEdge
from tests.hostile.edge.cases import Case, Outcome
from tests.hostile.edge.clients import ALL, hello
from tests.hostile.edge.corpus import CANARY

SECONDS = 2.0
UNKNOWN = b"\0\0\0\x90\0\0\0\0"
HEARTBEAT = b"\xff\xff\xff\xff"
REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n"
POST = b"POST /endpoints HTTP/1.1\r\nHost: a\r\n"

Flood = Callable[[], Awaitable[Outcome]]


def cases(edge: RunningEdge, token: str) -> Iterator[Case]:
    """Anonymous floods, then those of an agent with this token."""
    for name, (first, blob) in frames().items():
        yield Case("agents", f"flood of {name}", _agent(edge, "", first, blob))
        yield Case("agents", f"flood of {name} with a token", _agent(edge, token, first, blob))
    yield Case("agents", "flood of opened and reset streams with a token", _agent(edge, token, b"", b"", _opened))
    yield Case("agents", "flood of small data with a token", _agent(edge, token, b"", b"", _small))
    yield Case("agents", "flood of full windows with a token", _agent(edge, token, b"", b"", _windows))
    yield Case("agents", "flood of new connections", _reconnecting(edge, "agents", UNKNOWN * 8000))
    yield Case("agents", "flood of handshakes", _handshakes(edge, "agents"))
    for port in ("api", "ops"):
        for name, (head, blob) in requests().items():
            yield Case(port, f"flood of {name}", _many(edge, port, head, blob, 60))
    yield Case("tls", "flood of small records", _small_records(edge))


async def run(case: Case) -> Outcome:
    return await case.run()


def frames() -> dict[str, tuple[bytes, bytes]]:
    """What is sent once, and what is sent again and again."""
    request = struct.pack(">I", StreamType.BIND)
    return {
        "unknown frames": (b"", UNKNOWN * 8000),
        "resets": (b"", rst_frame(12345, 1) * 8000),
        "window increments": (data_header(101, 4, SYN) + request, wndinc_frame(101, 1) * 8000),
        "increments of nothing": (b"", wndinc_frame(99999, 1) * 8000),
        "farewells": (b"", goaway_frame(0, 0, b"x") * 4000),
        "empty data": (data_header(101, 4, SYN) + request, data_header(101, 0) * 8000),
        "single bytes": (data_header(101, 11, SYN) + request + b'{"Id":"', (data_header(101, 1) + b"a") * 8000),
        "heartbeats": (data_header(101, 4, SYN) + HEARTBEAT, (data_header(101, 4) + b"beat") * 4000),
    }


def requests() -> dict[str, tuple[bytes, bytes]]:
    chunked = POST + b"Transfer-Encoding: chunked\r\n\r\n"
    return {
        "endless fields": (REQUEST + b"X: ", b"a" * 65536),
        "endless paths": (b"GET /", b"a" * 65536),
        "fields without end": (REQUEST, b"a: b\r\n" * 10000),
        "chunk extensions": (chunked + b"1;", b"a" * 65536),
        "tiny chunks": (chunked, b"1\r\na\r\n" * 10000),
        "bodies": (POST + b"Content-Length: 9999999999\r\n\r\n", b"a" * 65536),
        "pipelined requests": (b"", (REQUEST + b"\r\n") * 2000),
    }


async def _tls(edge: RunningEdge, port: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    context = ssl.create_default_context(cafile=edge.ca)
    context.check_hostname = False
    return await asyncio.open_connection(
        "127.0.0.1", edge.ports[ALL[port]], ssl=context, server_hostname=CANARY if port == "tls" else "127.0.0.1"
    )


def _agent(
    edge: RunningEdge, token: str, first: bytes, blob: bytes, make: Callable[[int], bytes] | None = None
) -> Flood:
    async def run() -> Outcome:
        reader, writer = await _tls(edge, "agents")
        if token:
            body = struct.pack(">I", StreamType.AUTH) + json.dumps({"Extra": {"Authtoken": token}}).encode()
            writer.write(data_header(1, len(body), SYN) + body)
            await reader.readexactly(8)
        writer.write(first)
        return await _pour(reader, writer, (lambda number: blob) if make is None else make)

    return run


def _opened(number: int) -> bytes:
    start = 201 + number * 4000
    request = struct.pack(">I", StreamType.BIND)
    return b"".join(
        data_header(stream, 4, SYN) + request + rst_frame(stream, 5) for stream in range(start, start + 4000, 2)
    )


def _small(number: int) -> bytes:
    """Within the window of a stream, which ends then."""
    stream = 201 + number * 2
    data = (data_header(stream, 100) + b"a" * 100) * 2000
    return data_header(stream, 4, SYN) + HEARTBEAT + data + data_header(stream, 0, FIN)


def _windows(number: int) -> bytes:
    body = struct.pack(">I", StreamType.BIND) + b'{"Id":"' + b"a" * (WINDOW // 2)
    stream = 201 + number * 2
    return data_header(stream, len(body), SYN) + body + rst_frame(stream, 5)


async def _pour(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, make: Callable[[int], bytes], seconds: float = SECONDS
) -> Outcome:
    """Send for so long, or until the edge closes; whatever it answers is read."""
    answers = asyncio.create_task(_swallow(reader))
    end, number = asyncio.get_running_loop().time() + seconds, 0
    try:
        async with asyncio.timeout(seconds):
            while asyncio.get_running_loop().time() < end and not answers.done():
                writer.write(make(number))
                number += 1
                await writer.drain()
                await asyncio.sleep(0)
    except TimeoutError:
        return Outcome.SERVED  # it is paced
    except OSError:
        return Outcome.REFUSED
    finally:
        writer.transport.abort()
        answers.cancel()
        await asyncio.gather(answers, return_exceptions=True)
    return Outcome.REFUSED if answers.done() else Outcome.SERVED


async def _swallow(reader: asyncio.StreamReader) -> None:
    with suppress(OSError):
        while await reader.read(65536):
            pass


def _many(edge: RunningEdge, port: str, head: bytes, blob: bytes, number: int) -> Flood:
    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", edge.ports[ALL[port]])
        writer.write(head)
        await _pour(reader, writer, lambda _: blob)

    async def run() -> Outcome:
        await asyncio.gather(*(one() for _ in range(number)), return_exceptions=True)
        return Outcome.REFUSED

    return run


def _reconnecting(edge: RunningEdge, port: str, blob: bytes, number: int = 8) -> Flood:
    async def one(end: float) -> None:
        while asyncio.get_running_loop().time() < end:
            with suppress(OSError, TimeoutError):
                reader, writer = await _tls(edge, port)
                await _pour(reader, writer, lambda _: blob, 0.5)

    async def run() -> Outcome:
        end = asyncio.get_running_loop().time() + SECONDS
        await asyncio.gather(*(one(end) for _ in range(number)))
        return Outcome.REFUSED

    return run


def _handshakes(edge: RunningEdge, port: str, number: int = 500) -> Flood:
    """Half a hello from many connections, then all the other halves at once, and no end of the handshake."""

    async def run() -> Outcome:
        whole, writers = hello("127.0.0.1"), list[asyncio.StreamWriter]()
        for _ in range(number):
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", edge.ports[ALL[port]])
                writer.write(whole[:100])
                writers.append(writer)
        await asyncio.sleep(0.5)
        for writer in writers:
            writer.write(whole[100:])
        await asyncio.sleep(SECONDS)
        for writer in writers:
            writer.transport.abort()
        return Outcome.REFUSED

    return run


def _small_records(edge: RunningEdge) -> Flood:
    """TLS records of one byte each: decrypting them costs more than passing them on."""

    async def run() -> Outcome:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.create_default_context(cafile=edge.ca)
        context.check_hostname = False
        tls = context.wrap_bio(incoming, outgoing, server_hostname=CANARY)
        reader, writer = await asyncio.open_connection("127.0.0.1", edge.ports[ALL["tls"]])
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                writer.write(outgoing.read())
                incoming.write(await reader.read(65536))

        def records(_: int) -> bytes:
            for _byte in range(8000):
                tls.write(b"a")
            return outgoing.read()

        return await _pour(reader, writer, records)

    return run


async def closed(edge: RunningEdge, frames: bytes, seconds: float = 5.0) -> bool:
    """Whether the edge closes a connection to the agents' port that sends these frames without a token."""
    reader, writer = await _tls(edge, "agents")
    try:
        writer.write(frames)
        async with asyncio.timeout(seconds):
            with suppress(OSError):
                await writer.drain()
            await _swallow(reader)
    except TimeoutError:
        return False
    finally:
        writer.transport.abort()
    return True
