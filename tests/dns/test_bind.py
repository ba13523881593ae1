"""A real BIND that refuses, forbids, dies and is edited by hand: what the objects say meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seamark.families.dns.model.options import Intervals
from seamark.families.dns.model.rules import Policy, Rules
from seamark.providers.dns.link import Server, TsigKey, tls_context
from seamark.providers.dns.rfc2136 import Rfc2136Provider
from seamark.providers.dns.txt import Names, Values
from tests.answering import Agreeing
from tests.dns.running import TIMING, Cluster, cluster, endpoint, operating, until
from tests.dns.servers import DENIED, KEY, SECRET, ZONE, ZONES, Bind

WWW = f"www.{ZONE}"


def rules(**more: Any) -> Rules:
    return Rules(**{"zones": ZONES, "owner": "me", **more})


def one(world: Cluster, name: str = "www", address: str = "192.0.2.1") -> None:
    world.apply(name, endpoint(f"{name}.{ZONE}", "A", address))


@contextmanager
def a_bind(directory: Path, **more: Any) -> Iterator[Bind]:
    server = Bind(directory, **more)
    try:
        yield server
    finally:
        server.close()


def test_a_refused_key_is_told_in_the_servers_words(bind: Bind) -> None:
    async def story() -> None:
        world = cluster()
        one(world)
        provider = Rfc2136Provider(bind.server(TsigKey("stranger", SECRET)), ZONES)
        async with operating(world, provider, rules()):
            await until(lambda: world.says("www")[1] == "Failed", lambda: world.says("www"))
        assert world.says("www")[0] == "False"
        assert "Failed to sync: www.example.test A: " in world.says("www")[2]
        assert "refused the key: The peer didn't know the key we used" in world.says("www")[2]
        assert SECRET not in str(world.get("www"))

    asyncio.run(story())


def test_a_zone_that_takes_no_updates_blames_no_record(tmp_path: Path) -> None:
    async def story(server: Bind) -> None:
        world = cluster()
        for number in range(20):
            one(world, f"h{number}")
        provider = Rfc2136Provider(server.server(), ZONES)
        async with operating(world, provider, rules()):
            await until(
                lambda: all(world.says(f"h{number}")[1] == "Failed" for number in range(20)), lambda: world.says("h0")
            )
            assert f"{ZONE} takes no updates" in world.says("h0")[2]
            assert "REFUSED" in world.says("h0")[2]
            assert provider.updates < 20  # found out by an empty update, not record by record

    with a_bind(tmp_path / "read-only", writable=False) as server:
        asyncio.run(story(server))


def test_a_refused_transfer_adds_nothing_on_a_guess(tmp_path: Path) -> None:
    """Failure 4 of the facts: there, everything was added again."""

    async def story(server: Bind) -> None:
        world = cluster()
        one(world)
        provider = Rfc2136Provider(server.server(), ZONES)
        async with operating(world, provider, rules()):
            await until(lambda: world.says("www")[1] == "Failed", lambda: world.says("www"))
            assert f"refused the transfer of {ZONE}" in world.says("www")[2]
            assert provider.updates == 0
            assert server.dig(WWW, "A") == []

    with a_bind(tmp_path / "closed", transfers=False) as server:
        asyncio.run(story(server))


def test_one_denied_name_is_named_and_holds_nobody(bind: Bind) -> None:
    """Failure 1 of the facts: there, 49 records of the same batch were blocked without end, and without a message."""

    async def story() -> None:
        world = cluster()
        others = [f"h{number}" for number in range(60)]
        for name in others:
            one(world, name)
        one(world, "refused")
        async with operating(world, Rfc2136Provider(bind.server(), ZONES), rules()):
            await until(lambda: all(map(world.ready, others)), lambda: [world.says(name) for name in others])
            await until(lambda: world.says("refused")[1] == "Failed", lambda: world.says("refused"))
            assert world.says("refused")[2] == (f"Failed to sync: {DENIED} A: 127.0.0.1:{bind.port} answered REFUSED")
            (row,) = world.get("refused")["status"]["endpoints"]
            assert (row["dnsName"], row["state"]) == (DENIED, "Failed")
            one(world, "later")
            await until(lambda: world.ready("later"), "one that comes later is served, too")
            assert bind.dig(DENIED, "A") == []
            assert bind.dig(f"a-{DENIED}", "TXT") == []  # its ownership was not left behind
            world.delete("refused")
            await until(lambda: world.get("refused") is None, "what was never made needs no removal")

    asyncio.run(story())


def test_a_server_that_dies_is_noticed_by_a_timer_and_its_return_too(bind: Bind) -> None:
    async def story() -> None:
        world = cluster()
        one(world)
        async with operating(world, Rfc2136Provider(bind.server(timeout=1.0), ZONES), rules()):
            await until(lambda: world.ready("www"), lambda: world.says("www"))
            bind.kill()
            await until(lambda: world.says("www")[0] == "Unknown", lambda: world.says("www"))
            assert " since 20" in world.says("www")[2]
            one(world, "new")
            await until(lambda: world.says("new")[0] == "False", lambda: world.says("new"))
            world.delete("www")
            await until(lambda: "can't be removed" in world.says("www")[2], lambda: world.says("www"))
            assert "remove the finalizer externaldns.k8s.io/records" in world.says("www")[2]
            bind.start()
            await until(lambda: world.ready("new") and world.get("www") is None, lambda: world.says("new"), 90)
            assert bind.dig(WWW, "A") == []

    asyncio.run(story())


def test_drift_by_hand_is_put_back_or_reported_as_the_policy_says(bind: Bind) -> None:
    """Failure 6 of the facts: there, it was neither repaired nor reported."""

    async def story() -> None:
        world = cluster()
        one(world)
        provider = Rfc2136Provider(bind.server(), ZONES)
        async with operating(world, provider, rules()):
            await until(lambda: world.ready("www"), lambda: world.says("www"))
            bind.by_hand(lambda update: update.delete(f"{WWW}.", "A"))
            await until(lambda: bind.dig(WWW, "A") == ["192.0.2.1"], "it is put back")
        async with operating(world, provider, rules(policy=Policy.CREATE_ONLY)):
            bind.by_hand(lambda update: update.replace(f"{WWW}.", 60, "A", "192.0.2.66"))
            await until(lambda: world.says("www")[0] == "False", lambda: world.says("www"))
            assert "the policy create-only changes nothing" in world.says("www")[2]
            assert bind.dig(WWW, "A") == ["192.0.2.66"]

    asyncio.run(story())


def test_at_rest_nothing_is_written_and_no_zone_is_transferred(bind: Bind) -> None:
    """Failure 5 of the facts: there, the whole zone was read in every round."""

    async def story() -> None:
        world = cluster()
        for number in range(20):
            one(world, f"h{number}")
        provider = Rfc2136Provider(bind.server(), ZONES)
        async with operating(world, provider, rules()):
            await until(lambda: all(world.ready(f"h{number}") for number in range(20)), lambda: world.says("h0"))
            follower = provider.follower(ZONE)
            before = (follower.full, follower.incremental, provider.updates, world.status_writes)
            await asyncio.sleep(3 * TIMING.shelf_life)
            assert (follower.full, follower.incremental, provider.updates, world.status_writes) == before
            one(world, "more")
            await until(lambda: world.ready("more"), lambda: world.says("more"))
            assert (follower.full, follower.incremental) == (before[0], before[1] + 1)  # only the difference
            assert provider.updates == before[2] + 1

    asyncio.run(story())


def test_after_a_restart_nothing_is_written_and_a_deletion_goes_on(bind: Bind) -> None:
    async def story() -> None:
        world = cluster()
        for name in ("www", "old"):
            one(world, name)
        async with operating(world, Rfc2136Provider(bind.server(), ZONES), rules()):
            await until(lambda: world.ready("www") and world.ready("old"), lambda: world.says("www"))
        world.delete("old")
        assert world.get("old") is not None
        before = world.status_writes
        async with operating(world, Rfc2136Provider(bind.server(), ZONES), rules()):
            await until(lambda: world.get("old") is None, "the deletion goes on")
            assert bind.dig(f"old.{ZONE}", "A") == []
            assert world.ready("www")
        assert world.status_writes <= before + 1  # the object being deleted may report that

    asyncio.run(story())


def test_five_thousand_records(bind: Bind) -> None:
    async def story() -> None:
        world = cluster()
        for number in range(50):
            names = [f"r{number}-{index}.{ZONE}" for index in range(100)]
            world.apply(f"many{number}", *(endpoint(name, "A", "192.0.2.1") for name in names))
        everyone = [f"many{number}" for number in range(50)]
        calm = Intervals(spacing=0.5, poll=5.0, shelf_life=60.0)
        async with operating(world, Rfc2136Provider(bind.server(), ZONES), rules(), calm):
            await until(lambda: all(map(world.ready, everyone)), lambda: world.says("many0"), 120)
            assert bind.dig(f"r49-99.{ZONE}", "A") == ["192.0.2.1"]
            assert len(world.get("many0")["status"]["endpoints"]) == 100

    asyncio.run(story())


def test_records_are_served_over_tls_under_encrypted_ownership_and_a_restart_changes_nothing(bind: Bind) -> None:
    under = rules(names=Names(prefix="own-"), values=Values(b"0123456789abcdef0123456789abcdef"))

    async def story() -> None:
        world = cluster()
        one(world)
        first = Rfc2136Provider(bind.over_tls(), ZONES, querier=Agreeing())
        async with operating(world, first, under):
            await until(lambda: world.ready("www"), lambda: world.says("www"))
        (value,) = bind.dig(f"own-a-{WWW}", "TXT")
        assert "heritage" not in value
        second = Rfc2136Provider(bind.over_tls(), ZONES, querier=Agreeing())
        async with operating(world, second, under):
            await asyncio.sleep(1.0)
        assert second.updates == 0
        async with operating(world, second, rules(names=Names(prefix="own-"))):
            await until(lambda: world.says("www", "Accepted")[1] == "NotOwned", lambda: world.says("www", "Accepted"))

    asyncio.run(story())


def test_a_certificate_that_is_not_trusted_is_told(bind: Bind) -> None:
    async def story() -> None:
        world = cluster()
        one(world)
        server = Server("127.0.0.1", bind.tls_port, KEY, tls_context(), timeout=5.0)
        async with operating(world, Rfc2136Provider(server, ZONES), rules()):
            await until(lambda: world.says("www")[1] == "Failed", lambda: world.says("www"))
        assert "certificate" in world.says("www")[2]

    asyncio.run(story())
