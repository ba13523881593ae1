"""Probes: how a failure is reported, and when something was last verified."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from prometheus_client import CollectorRegistry

from seamark.families.bindings.boundendpoint.state import Probe, Verified
from seamark.families.bindings.model.verifications import Verifications
from seamark.families.bindings.remote import NotConfirmed, ProbeFailed, Prober, connect
from seamark_edge.wire.bindings import ACCEPTED, FORWARDER_ERROR, NOT_ACCEPTED, PROBE, PROBED, ConnResponse, frame
from seamark_runtime.api.meta import Key
from seamark_runtime.errors import Retry
from tests.edge.services import free_port
from tests.virtual_time import CLOCK, elapsed, run

KEY = Key("seamark-system", "one")
PROBE_CALL = Probe(KEY, "10.96.0.7", 80, 10000)


def failure(dial: Callable[[str, int], Awaitable[None]], *, verified: bool = False) -> str:
    async def program() -> str:
        async def good(_address: str, _port: int) -> None:
            pass

        prober = Prober(CLOCK, 10.0, dial=good if verified else dial)
        if verified:
            await prober.perform(PROBE_CALL)
            prober._dial = dial
        with pytest.raises(Retry) as raised:
            await prober.perform(PROBE_CALL)
        return raised.value.message

    return run(program())


async def refuses(_address: str, _port: int) -> None:
    raise ConnectionRefusedError(111, "Connection refused")


async def hangs(_address: str, _port: int) -> None:
    await asyncio.sleep(3600)


def test_a_refusal_and_a_silence_are_told_with_the_place() -> None:
    assert failure(refuses) == "dial tcp 10.96.0.7:80: connection refused"
    assert failure(hangs) == "dial tcp 10.96.0.7:80: no answer within 10 s"


def test_a_failure_says_when_a_probe_last_connected() -> None:
    words = failure(refuses, verified=True)
    assert words.startswith("dial tcp 10.96.0.7:80: connection refused (last connected at 20")


def test_a_probe_has_its_limit_and_no_more() -> None:
    async def program() -> None:
        began = elapsed()
        with pytest.raises(Retry):
            await Prober(CLOCK, 10.0, dial=hangs).perform(PROBE_CALL)
        assert elapsed() - began == 10

    run(program())


def test_when_it_was_verified_is_a_metric_until_it_is_forgotten() -> None:
    async def program() -> None:
        async def good(_address: str, _port: int) -> None:
            pass

        verifications, registry = Verifications(), CollectorRegistry()
        registry.register(verifications)
        labels = {"namespace": "seamark-system", "name": "one"}
        name = "seamark_binding_verified_timestamp_seconds"
        assert registry.get_sample_value(name, labels) is None
        await Prober(CLOCK, 10.0, verifications, good).perform(PROBE_CALL)
        assert registry.get_sample_value(name, labels) == CLOCK.wall().timestamp()
        verifications.forget(KEY)
        assert registry.get_sample_value(name, labels) is None

    run(program())


def test_a_later_success_is_the_same_result_at_a_later_time() -> None:
    first, later = Verified("2026-01-01T00:00:00Z"), Verified("2026-01-01T00:00:30Z")
    assert first == later


def response(answer: ConnResponse) -> bytes:
    return PROBED + frame(answer)


async def probed(answer: bytes | None, *, closes: bool = True) -> list[bytes]:
    """A probe of a forwarder that answers so, or not at all; gives what it received."""
    received: list[bytes] = []
    over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            received.append(await reader.readexactly(len(PROBE)))
            if answer is not None:
                writer.write(answer)
            if not closes:
                await reader.read()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        over.set()

    port = free_port()
    server = await asyncio.start_server(serve, "127.0.0.1", port)
    try:
        async with asyncio.timeout(0.5):
            await connect("127.0.0.1", port)
    finally:
        await over.wait()
        server.close()
        await server.wait_closed()
    return received


def test_a_probe_succeeds_when_the_edge_confirms_that_the_far_upstream_accepted() -> None:
    answer = response(ConnResponse(endpoint_id="ep_1", proto="tcp", upstream=ACCEPTED))
    assert asyncio.run(probed(answer)) == [PROBE]
    assert asyncio.run(probed(answer + b"and more", closes=False)) == [PROBE]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            response(ConnResponse(upstream=NOT_ACCEPTED, detail="Connection refused")),
            "the far upstream did not accept: Connection",
        ),
        (
            response(ConnResponse(error_code="ERR_NGROK_3200", error_message="is offline")),
            "the edge refused: is offline",
        ),
        (
            response(ConnResponse(error_code=FORWARDER_ERROR, error_message="no edge")),
            "the forwarder did not reach the edge: no edge",
        ),
        (b"", "closed the connection without a response"),
        (PROBED + b"\xff\xff", "closed the connection without a response"),
        (PROBED + b"\x02\x00\xff\xff", "the forwarder's response is none"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "what listens there is no forwarder of this version"),
        (b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", "what listens there is no forwarder of this version"),
        (PROBE, "closed the connection without a response"),  # a service that echoes
        (bytes(10_000_000), "what listens there is no forwarder of this version"),
    ],
)
def test_what_is_no_confirmation_is_a_failure(answer: bytes, message: str) -> None:
    with pytest.raises(ProbeFailed, match=message):
        asyncio.run(probed(answer))


def test_silence_is_no_success() -> None:
    with pytest.raises(TimeoutError):
        asyncio.run(probed(None, closes=False))
    with pytest.raises(TimeoutError):
        asyncio.run(probed(PROBED + b"\x10", closes=False))


def test_an_edge_that_does_not_report_on_the_upstream_confirms_nothing() -> None:
    async def program() -> None:
        async def cloud(_address: str, _port: int) -> None:
            raise NotConfirmed

        verifications = Verifications()
        found = await Prober(CLOCK, 10.0, verifications, cloud).perform(PROBE_CALL)
        assert not found.confirmed
        assert not verifications.last(KEY)

    with pytest.raises(NotConfirmed):
        asyncio.run(probed(response(ConnResponse(endpoint_id="ep_1", proto="tcp"))))
    run(program())
