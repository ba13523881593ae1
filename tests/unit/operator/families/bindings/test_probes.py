"""Probes: how a failure is told, and when something was last verified."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from prometheus_client import CollectorRegistry

from seamark.families.bindings.boundendpoint.state import Probe, Verified
from seamark.families.bindings.model.verifications import Verifications
from seamark.families.bindings.remote import ConnectionClosed, Prober, connect
from seamark_runtime.api.meta import Key
from seamark_runtime.errors import Retry
from tests.edge.services import free_port
from tests.virtual_time import CLOCK, elapsed, run

KEY = Key("seamark-system", "one")
PROBE = Probe(KEY, "10.96.0.7", 80, 10000)


def failure(dial: Callable[[str, int], Awaitable[None]], *, verified: bool = False) -> str:
    async def program() -> str:
        async def good(_address: str, _port: int) -> None:
            pass

        prober = Prober(CLOCK, 10.0, dial=good if verified else dial)
        if verified:
            await prober.perform(PROBE)
            prober._dial = dial
        with pytest.raises(Retry) as raised:
            await prober.perform(PROBE)
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
            await Prober(CLOCK, 10.0, dial=hangs).perform(PROBE)
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
        await Prober(CLOCK, 10.0, verifications, good).perform(PROBE)
        assert registry.get_sample_value(name, labels) == CLOCK.wall().timestamp()
        verifications.forget(KEY)
        assert registry.get_sample_value(name, labels) is None

    run(program())


def test_a_later_success_is_the_same_result_at_a_later_time() -> None:
    first, later = Verified("2026-01-01T00:00:00Z"), Verified("2026-01-01T00:00:30Z")
    assert first == later


@pytest.mark.parametrize("gives_up", [False, True])
def test_a_forwarder_that_takes_a_connection_and_gives_it_up_has_not_carried_it(gives_up: bool) -> None:
    async def program() -> None:
        over = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError):
                if not gives_up:
                    await reader.read()
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            over.set()

        port = free_port()
        server = await asyncio.start_server(serve, "127.0.0.1", port)
        if gives_up:
            with pytest.raises(ConnectionClosed):
                await connect("127.0.0.1", port)
        else:
            await connect("127.0.0.1", port)
        await over.wait()
        server.close()
        await server.wait_closed()

    asyncio.run(program())
