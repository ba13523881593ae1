"""Ready is what a resolver gets: the names are asked at real name servers, which answer otherwise, freeze and lag."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path
from typing import Any

import dns.update
import pytest

from seamark.families.dns.model.options import Intervals
from seamark.families.dns.model.rules import Rules
from seamark.providers.dns.authority import Authority
from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.dns.querying import NameServers
from seamark.providers.dns.rfc2136 import Rfc2136Provider
from tests.dns.running import ALL_TYPES, Cluster, cluster, endpoint, operating, synced, until
from tests.dns.servers import ADDRESS, OTHER, ZONE, Bind, NameServer

TIMING = Intervals(spacing=0.05, poll=0.5, shelf_life=6.0)


def provider(*servers: NameServer, patience: float = 0.3) -> Rfc2136Provider:
    """The zone on the first server; all of them are asked."""
    authority = Authority(named=[(ADDRESS, server.port) for server in servers])
    return Rfc2136Provider(servers[0].server(timeout=1.0), (ZONE,), querier=NameServers(authority, patience=patience))


def rules(**more: Any) -> Rules:
    return Rules(**{"zones": (ZONE,), "owner": "me", "types": ALL_TYPES, **more})


async def answered_otherwise(world: Cluster, name: str) -> str:
    await until(lambda: world.says(name)[1] == "AnsweredOtherwise", lambda: world.says(name))
    status, _, message = world.says(name)
    assert status == "False"
    assert world.says(name, "Accepted")[0] == "True"
    return message


def test_every_type_is_answered_as_it_was_wanted(name_server: NameServer) -> None:
    async def story() -> None:
        world = cluster()
        world.apply(
            "all",
            endpoint(f"a.{ZONE}", "A", "192.0.2.1", "192.0.2.2"),
            endpoint(f"a.{ZONE}", "AAAA", "2001:db8::1"),
            endpoint(f"alias.{ZONE}", "CNAME", "a.example.net"),
            endpoint(f"text.{ZONE}", "TXT", "one text", 'with "quotes"'),
            endpoint(f"long.{ZONE}", "TXT", *(f"{number:03}" * 60 for number in range(40))),
            endpoint(f"_sip._tcp.{ZONE}", "SRV", "1 2 5060 a.example.net."),
            endpoint(f"mail.{ZONE}", "MX", "10 mx.example.net"),
            endpoint(f"*.wild.{ZONE}", "A", "192.0.2.3"),
            endpoint(f"child.{ZONE}", "NS", "ns1.example.net", "ns2.example.net"),
        )
        async with operating(world, provider(name_server), rules(), TIMING):
            await until(lambda: world.ready("all"), lambda: world.says("all"))

    asyncio.run(story())


def test_a_name_in_a_sub_zone_of_the_same_server_is_not_answered(name_server: NameServer) -> None:
    """The zone above holds the record, the server answers from the zone below."""

    async def story() -> None:
        world = cluster()
        world.apply("below", endpoint(f"www.{OTHER}", "A", "192.0.2.1"))
        world.apply("beside", endpoint(f"www.{ZONE}", "A", "192.0.2.1"))
        async with operating(world, provider(name_server), rules(), TIMING):
            await until(lambda: world.ready("beside"), lambda: world.says("beside"))
            message = await answered_otherwise(world, "below")
            assert message == (f"www.{OTHER} A: {ADDRESS}:{name_server.port} answers NXDOMAIN from the zone {OTHER}")
            assert world.ready("beside")

    asyncio.run(story())


CUTS = {
    "NS": ("ns.example.net.", f"refers to the name servers of cut.{ZONE} (ns.example.net)"),
    "DNAME": ("example.net.", f"answers with the DNAME of cut.{ZONE} to example.net"),
}


@pytest.mark.parametrize("type_", CUTS)
def test_a_name_below_a_cut_that_somebody_else_made_is_not_answered(bind: Bind, type_: str) -> None:
    target, message = CUTS[type_]

    def cut(update: dns.update.UpdateMessage) -> None:
        update.add(f"cut.{ZONE}.", 300, type_, target)

    def mend(update: dns.update.UpdateMessage) -> None:
        update.delete(f"cut.{ZONE}.", type_)

    async def story() -> None:
        world = cluster()
        world.apply("www", endpoint(f"www.cut.{ZONE}", "A", "192.0.2.1"))
        async with operating(world, provider(bind), rules(), TIMING):
            await until(lambda: world.ready("www"), lambda: world.says("www"))
            bind.by_hand(cut)
            began = time.monotonic()
            assert (await answered_otherwise(world, "www")).endswith(message)
            assert time.monotonic() - began < 3 * TIMING.asking
            bind.by_hand(mend)
            await until(lambda: world.ready("www"), lambda: world.says("www"))

    asyncio.run(story())


def test_every_authoritative_server_has_to_answer(tmp_path: Path) -> None:
    """The second server is not a secondary: it has the zone as it once was."""

    async def story(first: Bind, second: Bind) -> None:
        world = cluster()
        world.apply("www", endpoint(f"www.{ZONE}", "A", "192.0.2.1"))
        async with operating(world, provider(first, second), rules(), TIMING):
            message = await answered_otherwise(world, "www")
            assert message == f"www.{ZONE} A: {ADDRESS}:{second.port} answers NXDOMAIN"
            second.by_hand(lambda update: update.add(f"www.{ZONE}.", 60, "A", "192.0.2.9"))
            await until(lambda: "answers 192.0.2.9" in world.says("www")[2], lambda: world.says("www"))
            second.by_hand(lambda update: update.replace(f"www.{ZONE}.", 60, "A", "192.0.2.1"))
            await until(lambda: world.ready("www"), lambda: world.says("www"))

    servers = [Bind(tmp_path / name) for name in ("first", "second")]
    try:
        asyncio.run(story(*servers))
    finally:
        for server in servers:
            server.close()


def test_a_frozen_server_is_unknown_within_the_shelf_life_and_nothing_is_removed(name_server: NameServer) -> None:
    async def story() -> None:
        world = cluster()
        for number in range(5):
            world.apply(f"h{number}", endpoint(f"h{number}.{ZONE}", "A", "192.0.2.1"))
        names = list(map("h{}".format, range(5)))
        async with operating(world, provider(name_server), rules(), TIMING):
            await until(lambda: all(map(world.ready, names)), lambda: world.says("h0"))
            assert name_server.process is not None
            name_server.process.send_signal(signal.SIGSTOP)
            began = time.monotonic()
            try:
                await until(lambda: not any(map(world.ready, names)), lambda: world.says("h0"))
                took = time.monotonic() - began
                assert took <= 3 * TIMING.asking, f"the shelf life is {3 * TIMING.asking} s"
                status, reason, message = world.says("h0")
                assert (status, reason) == ("Unknown", "NoResponse")
                assert "does not respond since 20" in message
                writes = world.status_writes
                await asyncio.sleep(TIMING.shelf_life)
                assert world.says("h0")[0] == "Unknown"
                assert world.status_writes - writes <= len(names)  # that the zone can't be read is one more message
            finally:
                name_server.process.send_signal(signal.SIGCONT)
            await until(lambda: all(map(world.ready, names)), lambda: world.says("h0"))
        assert name_server.dig(f"h0.{ZONE}", "A") == ["192.0.2.1"]

    asyncio.run(story())


def test_one_sync_is_of_this_run_and_an_old_status_does_not_count(bind: Bind) -> None:
    async def story() -> None:
        world = cluster()
        world.apply("www", endpoint(f"www.{ZONE}", "A", "192.0.2.1"))
        world.apply("empty")
        async with operating(world, provider(bind), rules(), TIMING) as operator:
            assert await synced(world, operator, 30) == []
        assert world.ready("www")
        bind.kill()
        async with operating(world, provider(bind), rules(), Intervals(spacing=0.05, poll=0.5)) as operator:
            left = await synced(world, operator, 3)
            assert world.ready("www")  # the status of the earlier run is still valid
        assert left[0] == f"the zone {ZONE} was not read within 3 s"
        assert any("www: not synced within 3 s: " in line for line in left)
        bind.start()
        async with operating(world, provider(bind), rules(), TIMING) as operator:
            assert await synced(world, operator, 30) == []

    asyncio.run(story())


def test_an_outage_in_which_the_operator_restarts_changes_no_record_and_no_condition(bind: Bind) -> None:
    async def story() -> None:
        world = cluster()
        world.apply("www", endpoint(f"www.{ZONE}", "A", "192.0.2.1"))
        async with operating(world, provider(bind), rules(), TIMING):
            await until(lambda: world.ready("www"), lambda: world.says("www"))
            assert bind.process is not None
            bind.process.send_signal(signal.SIGSTOP)
            await until(lambda: world.says("www")[1] == "NoResponse", lambda: world.says("www"))
            await asyncio.sleep(TIMING.shelf_life)
        before, writes = world.says("www"), world.status_writes
        async with operating(world, provider(bind), rules(), TIMING):
            await asyncio.sleep(2 * TIMING.shelf_life)
            assert world.says("www") == before
        bind.process.send_signal(signal.SIGCONT)
        async with operating(world, provider(bind), rules(), TIMING):
            await until(lambda: world.ready("www"), lambda: world.says("www"))
        assert world.status_writes - writes <= 3
        assert bind.dig(f"www.{ZONE}", "A") == ["192.0.2.1"]

    asyncio.run(story())


def test_memory_that_no_name_server_serves_is_unknown_and_one_sync_says_so() -> None:
    async def story() -> None:
        world = cluster()
        world.apply("www", endpoint(f"www.{ZONE}", "A", "192.0.2.1"))
        async with operating(world, MemoryProvider((ZONE,)), rules(), TIMING) as operator:
            left = await synced(world, operator, 30)
            assert world.says("www") == ("Unknown", "NoNameServer", f"www.{ZONE} A: no name server serves it")
        assert left == [f"default/www: www.{ZONE} A: no name server serves it"]

    asyncio.run(story())
