"""Attacks by anonymous clients that reach a port."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from random import Random

from tests.edge.running import RunningEdge
from tests.hostile.edge.cases import Case, Outcome
from tests.hostile.edge.corpus import CANARY

PORTS = {"agents": "agent_port", "ingress": "ingress_port", "api": "api_port", "ops": "ops_port", "http": "http_port"}
ALL = {**PORTS, "tls": "tls_port"}
HTTP = ("api", "ops", "http")


def hello(host: str = CANARY) -> bytes:
    """A whole ClientHello, as OpenSSL writes it."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=host).do_handshake()
    return outgoing.read()


def payloads(random: Random, number: int) -> dict[str, bytes]:
    """Bytes that are sent at once, to every port; each is answered or closed."""
    whole = hello()
    return {
        "one byte": b"\x16",
        "letters": b"HELO x\r\n",
        "newlines": b"\r\n" * 5000,
        "zeros": b"\0" * 70_000,
        "half a hello": whole[: len(whole) // 2],
        "hello, then noise": whole + random.randbytes(5000),
        "hello without a name": hello("x")[:200],
        "long record": b"\x16\x03\x01\xff\xff" + b"\x01" * 70_000,
        "short record": b"\x16\x03\x01\x00\x01\x01",
        "lengths beyond": b"\x16\x03\x01\x00\x20\x01\xff\xff\xff" + b"\xff" * 28,
        "alert": b"\x15\x03\x03\x00\x02\x02\x28",
        "old tls": b"\x80\x2e\x01\x00\x02" + b"\0" * 50,
        "http2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0",
        "proxy header": b"PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "proxy header 2": b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\xff\xff",
        **{f"noise {n}": random.randbytes(random.randrange(1, 4000)) for n in range(number)},
    }


def heads() -> dict[str, bytes]:
    """Requests that are odd, for the ports that speak HTTP."""
    get, post = b"GET /endpoints HTTP/1.1\r\nHost: a\r\n", b"POST /endpoints HTTP/1.1\r\nHost: a\r\n"
    return {
        "plain": get + b"\r\n",
        "many fields": get + b"".join(b"X-%d: y\r\n" % n for n in range(20_000)) + b"\r\n",
        "long field": get + b"X: " + b"y" * 200_000 + b"\r\n\r\n",
        "long path": b"GET /" + b"y" * 200_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        "nul": b"GET /\0 HTTP/1.1\r\nHost: a\0b\r\n\r\n",
        "no version": b"GET /\r\n\r\n",
        "version": b"GET / HTTP/9.9\r\nHost: a\r\n\r\n",
        "absolute": b"GET http://169.254.169.254/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "connect": b"CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: a\r\n\r\n",
        "two hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: %s\r\n\r\n" % CANARY.encode(),
        "odd host": b"GET / HTTP/1.1\r\nHost: [:::\r\n\r\n",
        "bytes in host": b"GET / HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n",
        "folded": b"GET / HTTP/1.1\r\nHost: a\r\n X: y\r\n\r\n",
        "space before colon": b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        "two lengths": post + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        "length and chunks": post
        + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n",
        "odd chunked": post + b"Transfer-Encoding: xchunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
        "chunked twice": post + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        "chunk size": post + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nx",
        "chunk sign": post + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nabcde\r\n0\r\n\r\n",
        "huge length": post + b"Content-Length: 99999999999999999999\r\n\r\nx",
        "negative length": post + b"Content-Length: -1\r\n\r\n",
        "body too large": post + b"Content-Length: 5000000\r\n\r\n" + b"x" * 2_000_000,
        "gzip": post + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00",
        "expect": post + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n",
        "upgrade": get + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + b"x" * 100_000,
        "pipelined": (get + b"\r\n") * 2000,
        "bad token": get + b"Authorization: Bearer \xff\xfe\r\n\r\n",
        "long token": get + b"Authorization: Bearer " + b"x" * 8000 + b"\r\n\r\n",
        "strange method": b"%s / HTTP/1.1\r\nHost: a\r\n\r\n" % (b"M" * 1000),
    }


def cases(edge: RunningEdge, random: Random, number: int) -> Iterator[Case]:
    for name, data in payloads(random, number).items():
        for port in ALL:
            yield Case(port, name, _sent(edge, port, data))
    for name, data in heads().items():
        for port in HTTP:
            yield Case(port, f"request {name}", _sent(edge, port, data))
    for port in ALL:
        yield Case(port, "nothing", _sent(edge, port, b""))
        yield Case(port, "hello byte by byte", _dripping(edge, port, hello()))
    for port in HTTP:
        start = b"GET / HTTP/1.1\r\nHost: a\r\n"
        yield Case(port, "head line by line", _dripping(edge, port, b"X: y\r\n" * 1000, start, 6))
        yield Case(
            port, "body byte by byte", _dripping(edge, port, b"x" * 1000, start + b"Content-Length: 1000\r\n\r\n")
        )
    for port in ("agents", "ingress", "tls"):
        yield Case(port, "handshake, then nothing", _shaken(edge, port, b""))
        yield Case(port, "handshake, then noise", _shaken(edge, port, random.randbytes(5000)))


@asynccontextmanager
async def connected(edge: RunningEdge, port: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", edge.ports[ALL[port]])
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


def _sent(edge: RunningEdge, port: str, data: bytes) -> Callable[[], Awaitable[Outcome]]:
    async def send() -> Outcome:
        async with connected(edge, port) as (reader, writer):
            writer.write(data)
            with contextlib.suppress(OSError):
                await writer.drain()
            return await _end(reader)

    return send


def _dripping(
    edge: RunningEdge, port: str, data: bytes, start: bytes = b"", step: int = 1
) -> Callable[[], Awaitable[Outcome]]:
    async def drip() -> Outcome:
        async with connected(edge, port) as (reader, writer):
            writer.write(start)
            ending = asyncio.ensure_future(_end(reader))
            for at in range(0, len(data), step):
                if ending.done() or writer.transport.is_closing():
                    break
                writer.write(data[at : at + step])
                await asyncio.sleep(0.05)
            return await ending

    return drip


def _shaken(edge: RunningEdge, port: str, data: bytes) -> Callable[[], Awaitable[Outcome]]:
    async def shake() -> Outcome:
        context = ssl.create_default_context(cafile=edge.ca)
        context.check_hostname = False
        host, number = ("127.0.0.1", edge.ports[ALL[port]])
        reader, writer = await asyncio.open_connection(host, number, ssl=context, server_hostname=CANARY)
        try:
            writer.write(data)
            if port == "tls":  # this one leads to the canary's service, and may stay as long as it likes
                return Outcome.SERVED
            return await _end(reader)
        finally:
            writer.transport.abort()

    return shake


async def _end(reader: asyncio.StreamReader) -> Outcome:
    """Until the edge closes, with an answer or without. An internal error is neither."""
    answer = b""
    try:
        while data := await reader.read(65536):
            answer = (answer + data)[:65536]
    except OSError:
        pass
    if b" 500 " in answer[:20]:
        return Outcome.CRASHED
    return Outcome.SERVED if b" 200 " in answer[:20] else Outcome.REFUSED


async def crowd(edge: RunningEdge, port: str, number: int) -> int:
    """So many idle connections at once; gives how many were made. They are held for a moment."""
    held: list[asyncio.StreamWriter] = []

    async def some(count: int) -> None:
        for _ in range(count):
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", edge.ports[ALL[port]])
                held.append(writer)

    try:
        async with asyncio.timeout(20):
            await asyncio.gather(*(some(number // 50) for _ in range(50)))
    except TimeoutError:
        pass
    await asyncio.sleep(0.5)
    for writer in held:
        writer.transport.abort()
    return len(held)
