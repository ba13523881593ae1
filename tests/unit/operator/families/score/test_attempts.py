"""Attempts to reach an endpoint, on real sockets of this machine (docs/spec/score/runtime.md, rules 8 and 9)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from seamark.families.score.remote import Remote
from seamark.families.score.workloadexposure.state import Lookup, Probe
from seamark_runtime.errors import Retry
from seamark_runtime.resolver import Resolver

HERE = "127.0.0.1"
perform = Remote(Resolver()).perform


@asynccontextmanager
async def answering(line: bytes) -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server that answers everything with a line; the port, and what it was asked."""
    requests: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if line:
            requests.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(line)
        writer.close()

    for port in range(19_000, 19_200):
        try:
            server = await asyncio.start_server(serve, HERE, port)
            break
        except OSError:
            continue
    async with server:
        yield port, requests


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


@pytest.mark.parametrize("scheme", ["tcp", "grpc"])
def test_of_other_schemes_a_connection_is_enough(scheme: str) -> None:
    assert asyncio.run(tried(b"", scheme)) == (True, [])


def test_a_closed_port_is_not_reachable() -> None:
    with pytest.raises(OSError, match="Connect"):
        asyncio.run(perform(Probe(HERE, 1, "http")))


def test_a_name_is_looked_up() -> None:
    assert asyncio.run(perform(Lookup("localhost")))
    with pytest.raises(Retry, match="has no address in DNS"):
        asyncio.run(perform(Lookup("nothing.invalid")))
