"""Addresses of host names: of the system, and of a name server that is named."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.dns.model import Record
from seamark.providers.dns.server import MemoryServer
from seamark_cluster.real.ports import Ports
from seamark_runtime.errors import UserError
from seamark_runtime.resolver import Resolver, cancellable

HERE = "127.0.0.1"


def asked(host: str) -> tuple[str, ...]:
    async def story() -> tuple[str, ...]:
        zone = MemoryProvider(("example.test",))
        zone.put(Record("www.example.test", "A", ("192.0.2.1",), 60))
        zone.put(Record("www.example.test", "AAAA", ("2001:db8::1",), 60))
        with Ports(HERE) as ports:
            server, port = MemoryServer(zone), ports.reserve()
            await server.start(HERE, port)
            try:
                return await Resolver(f"{HERE}:{port}").lookup(host)
            finally:
                server.close()

    return asyncio.run(story())


def test_the_named_server_is_asked_for_every_address() -> None:
    assert set(asked("www.example.test")) == {"192.0.2.1", "2001:db8::1"}


def test_a_name_that_it_does_not_have_has_no_address() -> None:
    with pytest.raises(OSError, match=r"nobody\.example\.test has no address in DNS"):
        asked("nobody.example.test")


def test_a_name_that_it_does_not_serve_is_looked_up_as_usual() -> None:
    assert HERE in asked("localhost")


def test_an_address_is_its_own() -> None:
    assert asked("192.0.2.7") == ("192.0.2.7",)
    assert asyncio.run(Resolver().lookup("2001:db8::7")) == ("2001:db8::7",)


@pytest.mark.parametrize("server", ["127.0.0.1", "ns.example.test:53", ":53"])
def test_what_is_no_server_is_told(server: str) -> None:
    with pytest.raises(UserError, match="is no name server"):
        Resolver(server)


@pytest.mark.parametrize("end", [None, OSError("no answer")])
def test_a_cancellation_that_a_library_swallowed_counts_all_the_same(end: OSError | None) -> None:
    async def deaf() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:  # as a deadline does that is met at the same moment
            if end is not None:
                raise end from None
        return "answer"

    async def again_and_again() -> None:
        while True:
            with suppress(OSError):
                await cancellable(deaf())

    async def story() -> bool:
        task = asyncio.ensure_future(again_and_again())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task], timeout=5)
        return task.cancelled()

    assert asyncio.run(story())


def test_a_deadline_around_it_stays_a_deadline() -> None:
    async def deaf() -> str:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        return "answer"

    async def story() -> None:
        async with asyncio.timeout(0.01):
            await cancellable(deaf())

    with pytest.raises(TimeoutError):
        asyncio.run(story())
