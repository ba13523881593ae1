"""Attempts to reach an endpoint, on real sockets of this machine (docs/spec/score/runtime.md, rules 8 and 9)."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from seamark.families.score import remote
from seamark.families.score.remote import Remote
from seamark.families.score.workloadexposure.state import Dial, Lookup, OtherProtocol, Port, PortRefused, Probe
from seamark_runtime.errors import Retry
from seamark_runtime.resolver import Resolver

HERE = "127.0.0.1"
SETTINGS = bytes((0, 0, 6, 4, 0, 0, 0, 0, 0)) + bytes(6)  # the first frame of a server of HTTP/2
GOAWAY = bytes((0, 0, 8, 7, 0, 0, 0, 0, 0)) + bytes(8)
perform = Remote(Resolver()).perform


@asynccontextmanager
async def listening(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[int]:
    """A server; its port."""
    for port in range(19_000, 19_200):
        try:
            server = await asyncio.start_server(serve, HERE, port)
            break
        except OSError:
            continue
    async with server:
        yield port


@asynccontextmanager
async def answering(line: bytes) -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server that answers everything with a line, or with nothing; the port, and what it was asked."""
    requests: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if line:
            writer.write(line)
        requests.append(await reader.read(1024))
        writer.close()

    async with listening(serve) as port:
        yield port, requests


async def closed(scheme: str, *, reset: bool) -> bool:
    """A port where each connection ends at once."""

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if reset:
            connection = writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()

    async with listening(serve) as port:
        return await perform(Dial("uid", HERE, (Port(port, scheme),)))


async def tried(line: bytes, scheme: str = "http") -> tuple[bool, list[bytes]]:
    async with answering(line) as (port, requests):
        return await perform(Probe(HERE, port, scheme, "/hi")), requests


@pytest.mark.parametrize("code", [200, 301, 401, 404, 500])
def test_a_server_that_answers_is_reachable_whatever_the_answer(code: int) -> None:
    reachable, (request,) = asyncio.run(tried(b"HTTP/1.1 %d Words\r\n\r\n" % code))
    assert reachable
    assert request.startswith(b"HEAD /hi HTTP/1.1\r\nHost: 127.0.0.1\r\n")


@pytest.mark.parametrize("code", [502, 503, 504])
def test_a_gateway_without_a_backend_is_no_answer(code: int) -> None:
    with pytest.raises(Retry, match=f"it answers with {code}"):
        asyncio.run(tried(b"HTTP/1.1 %d Words\r\n\r\n" % code))


def test_a_response_that_is_no_http_is_no_answer_to_http() -> None:
    with pytest.raises(Retry, match="speaks no HTTP"):
        asyncio.run(tried(b"220 mail.example.com ESMTP\r\n"))


def test_a_line_without_an_end_is_no_answer_to_http() -> None:
    with pytest.raises(Retry, match="speaks no HTTP"):
        asyncio.run(tried(b"x" * 200_000))


@pytest.mark.parametrize("scheme", ["http", "tcp"])
def test_an_endpoint_that_closes_at_once_is_not_reachable(scheme: str) -> None:
    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def probe() -> None:
        async with listening(serve) as port:
            await perform(Probe(HERE, port, scheme))

    with pytest.raises(Retry, match="closes connections without an answer"):
        asyncio.run(probe())


@pytest.mark.parametrize("scheme", ["tcp", "grpc"])
def test_of_other_schemes_a_connection_is_enough(scheme: str) -> None:
    reachable, _ = asyncio.run(tried(b"", scheme))
    assert reachable


def test_a_closed_port_is_not_reachable() -> None:
    with pytest.raises(OSError, match="Connect"):
        asyncio.run(perform(Probe(HERE, 1, "http")))


async def dialled(line: bytes, *more: Port, scheme: str = "http") -> bool:
    async with answering(line) as (port, _):
        return await perform(Dial("uid", HERE, (Port(port, scheme), *more)))


@pytest.mark.parametrize("line", [b"HTTP/1.1 503 Words\r\n\r\n", b"HTTP/1.0 400 Words\r\n\r\n", SETTINGS, GOAWAY])
def test_a_port_of_a_pod_answers_with_any_response_of_http(line: bytes) -> None:
    assert asyncio.run(dialled(line))


@pytest.mark.parametrize("line", [b"220 mail.example.com ESMTP\r\n", b"-ERR unknown command\r\n", b"\0" * 200_000])
def test_what_is_no_http_is_no_answer_of_a_port_that_speaks_http(line: bytes) -> None:
    with pytest.raises(OtherProtocol, match=r"Port 19\d+ answers, but not with HTTP$"):
        asyncio.run(dialled(line))


@pytest.mark.parametrize("scheme", ["http", "https", "tcp"])
@pytest.mark.parametrize("reset", [False, True])
def test_a_connection_that_is_closed_without_a_byte_is_no_answer(scheme: str, reset: bool) -> None:
    with pytest.raises(Retry, match=r"Port 19\d+ closes connections without an answer$"):
        asyncio.run(closed(scheme, reset=reset))


def test_what_is_no_tls_is_no_answer_of_a_port_that_speaks_https() -> None:
    with pytest.raises(OtherProtocol, match=r"Port 19\d+ answers, but not with TLS$"):
        asyncio.run(dialled(b"HTTP/1.0 400 Bad Request\r\n\r\n", scheme="https"))


@pytest.mark.parametrize(
    "alert", [40, 112, 116], ids=["handshake failure", "unrecognized name", "certificate required"]
)
def test_an_alert_of_tls_is_an_answer(alert: int) -> None:
    assert asyncio.run(dialled(bytes((21, 3, 3, 0, 2, 2, alert)), scheme="https"))


def test_of_other_protocols_a_connection_that_stays_open_is_enough() -> None:
    assert asyncio.run(dialled(b"", scheme="tcp"))


def test_of_other_protocols_a_byte_before_the_end_is_enough() -> None:
    assert asyncio.run(dialled(b"220 mail.example.com ESMTP\r\n", scheme="tcp"))


def test_a_port_of_a_pod_where_nobody_listens_refuses() -> None:
    with pytest.raises(PortRefused, match="Connections to port 1 are refused"):
        asyncio.run(dialled(b"HTTP/1.1 200 OK\r\n\r\n", Port(1, "tcp")))


def test_a_process_that_is_stopped_accepts_nothing_though_its_machine_takes_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remote, "PATIENCE", 0.1)

    async def silent() -> None:
        with socket.create_server((HERE, 0)) as server:
            await perform(Dial("uid", HERE, (Port(server.getsockname()[1], "http"),)))

    with pytest.raises(Retry, match="does not answer"):
        asyncio.run(silent())


def test_a_name_is_looked_up() -> None:
    assert asyncio.run(perform(Lookup("localhost")))
    with pytest.raises(Retry, match="has no address in DNS"):
        asyncio.run(perform(Lookup("nothing.invalid")))
