"""The probe of a gateway's port against servers that are not its Envoy: bounded, and never a success."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest

from seamark_edge.dataplane.envoy import probe as probing
from seamark_edge.dataplane.envoy.probe import MOST_BYTES, ProbeToken, Refusing, probe, server_name
from seamark_edge.dataplane.model import Chain, Listener, ServerTls
from seamark_runtime.errors import Retry

HOST = "127.0.0.1"
TOKEN = ProbeToken.of("uid", "http")
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def answer(content: bytes) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(content)
        writer.close()

    return serve


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


async def garbage_without_end(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while not writer.is_closing():
        writer.write(b"x" * MOST_BYTES)
        await writer.drain()


async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(b"SSH-2.0-x\r\n")
    writer.close()


def outcome(serve: Serve, chain: Chain) -> Retry | None:
    """Of a probe of that server; None is a success."""

    async def play() -> Retry | None:
        serving: list[asyncio.Task[None]] = []

        async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            async def handle() -> None:
                try:
                    await serve(reader, writer)
                except (ConnectionError, asyncio.IncompleteReadError):
                    pass
                finally:
                    writer.transport.abort()

            serving.append(asyncio.ensure_future(handle()))

        server = await asyncio.start_server(accepted, HOST, 0)
        port = server.sockets[0].getsockname()[1]
        try:
            await probe(Listener("web", (HOST,), port, (chain,)), "uid", (HOST,))
        except Retry as error:
            return error
        finally:
            server.close()
            async with asyncio.timeout(5):
                await asyncio.gather(*serving)
        return None

    return asyncio.run(play())


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "DEADLINE", 0.5)


def test_the_very_answer_is_a_success_and_the_answer_of_another_gateways_envoy_is_none() -> None:
    good = f"HTTP/1.1 200 OK\r\ncontent-length: 32\r\n\r\n{TOKEN.text}".encode()
    assert outcome(answer(good), Chain("http", table="http")) is None
    error = outcome(answer(good), Chain("http", table="another"))
    assert error is not None
    assert "not as the Envoy of this Gateway" in error.message


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n\r\nwelcome",
        b"HTTP/1.1 301 Moved\r\nlocation: /\r\n\r\n",
        f"HTTP/1.1 503 No\r\n\r\n{TOKEN.text}".encode(),
        b"\x00" * 100,
    ],
)
def test_any_other_answer_is_a_failure(content: bytes) -> None:
    error = outcome(answer(content), Chain("http", table="http"))
    assert error is not None
    assert "not as the Envoy of this Gateway" in error.message


def test_a_server_that_hangs_or_sends_without_end_is_left_within_the_deadline() -> None:
    hung = outcome(hang, Chain("http", table="http"))
    assert hung is not None
    assert "accepts connections and answers no request" in hung.message
    flooded = outcome(garbage_without_end, Chain("http", table="http"))
    assert flooded is not None


def test_garbage_instead_of_tls_is_a_failure_also_where_an_alert_would_be_an_answer() -> None:
    chain = Chain("tls", tls=ServerTls(("secret",)))
    error = outcome(garbage, chain)
    assert error is not None
    assert "does not answer with TLS" in error.message


def test_a_port_where_nothing_listens_is_named() -> None:
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    with pytest.raises(Refusing, match=f"nothing listens at {HOST}:{port}"):
        asyncio.run(probe(Listener("web", (HOST,), port, ()), "uid", (HOST,)))


def test_a_chain_is_reached_by_a_name_that_it_serves() -> None:
    assert server_name(Chain("a", server_names=("*.example.com",))) == "probe.example.com"
    assert server_name(Chain("a", server_names=("www.example.com",))) == "www.example.com"
