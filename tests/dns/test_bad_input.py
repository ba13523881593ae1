"""Bad input of users and servers: reported on the object; the others continue, nothing is lost."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from seamark.families.dns.model.rules import Rules
from seamark.providers.dns.link import Server
from seamark.providers.dns.rfc2136 import Rfc2136Provider
from seamark_cluster.real.ports import Ports
from tests.answering import Agreeing, AnsweringMemory
from tests.dns.running import ALL_TYPES, cluster, endpoint, operating, until
from tests.dns.servers import KEY, ZONE, ZONES, Bind

HOST = "127.0.0.1"
LONG = "a" * 64
MANY = [f"10.{number // 65536}.{number // 256 % 256}.{number % 256}" for number in range(10_000)]
BAD = {
    "address": (endpoint(f"a.{ZONE}", "A", "192.0.2.300"), "Invalid", "targets[0]: '192.0.2.300' is not an IPv4"),
    "family": (endpoint(f"b.{ZONE}", "AAAA", "192.0.2.1"), "Invalid", "targets[0]: '192.0.2.1' is an IPv4 address"),
    "host": (endpoint(f"c.{ZONE}", "CNAME", "not a host"), "Invalid", "targets[0]: 'not a host' has the label"),
    "name": (endpoint(f"-d-.{ZONE}", "A", "192.0.2.1"), "Invalid", "dnsName: '-d-.example.test' has the label"),
    "label": (endpoint(f"{LONG}.{ZONE}", "A", "192.0.2.1"), "Invalid", "a label of 64 characters"),
    "empty": (endpoint("", "A", "192.0.2.1"), "Invalid", "dnsName: '' must not be empty"),
    "none": (endpoint(f"e.{ZONE}", "A"), "Invalid", "targets: must not be empty"),
    "mx": (endpoint(f"f.{ZONE}", "MX", "mail.example.net"), "Invalid", "is not `preference name`"),
    "srv": (endpoint(f"g.{ZONE}", "SRV", "1 2 3 host.example.net"), "Invalid", "with the dot at the end"),
    "ptr": (endpoint(f"h.{ZONE}", "PTR", "www.example.net"), "Invalid", "is not under in-addr.arpa or ip6.arpa"),
    "unknown": (endpoint(f"i.{ZONE}", "SPF", "v=spf1"), "Invalid", "recordType: 'SPF' is not one of"),
    "ttl": (endpoint(f"j.{ZONE}", "A", "192.0.2.1", recordTTL=2**31), "Invalid", "recordTTL: 2147483648 is not"),
    "many": (endpoint(f"k.{ZONE}", "A", *MANY), "Invalid", "targets: has 10000 entries; at most 1000"),
    "outside": (endpoint("www.example.org", "A", "192.0.2.1"), "Filtered", "is in none of the zones"),
    "beside": (endpoint(f"good.{ZONE}", "CNAME", "x.example.net"), "Conflict", "a CNAME can't be beside the A record"),
}


def test_each_bad_record_is_told_with_its_field_and_all_others_are_served() -> None:
    """Rules 1 to 7 and 12."""
    provider = AnsweringMemory((ZONE,))
    world = cluster()

    async def story() -> None:
        for name, (record, _, _) in BAD.items():
            world.apply(name, record)
        world.apply("mixed", *(record for record, _, _ in BAD.values()), endpoint(f"mixed.{ZONE}", "A", "192.0.2.1"))
        world.apply("good", endpoint(f"good.{ZONE}", "A", "192.0.2.1"))
        rules = Rules(zones=(ZONE,), owner="me", types=ALL_TYPES)
        async with operating(world, provider, rules):
            await until(lambda: world.ready("good"), lambda: world.says("good"))
            for name, (_, reason, words) in BAD.items():
                await until(lambda name=name: world.says(name)[0] == "False", lambda name=name: world.says(name))  # type: ignore[misc]  # bound now
                status, said, message = world.says(name, "Accepted")
                assert (status, said) == ("False", reason), name
                assert words in message, name
            await until(lambda: provider.content(ZONE).at(f"mixed.{ZONE}"), "a good record beside bad ones is served")
            await until(lambda: len(world.get("mixed")["status"]["endpoints"]) == len(BAD) + 1, "each has its row")
        assert {name for name in provider.content(ZONE).names if not name.startswith("a-")} == {
            f"good.{ZONE}",
            f"mixed.{ZONE}",
        }

    asyncio.run(story())


def test_a_ttl_below_zero_that_was_stored_before_there_was_a_schema_is_told() -> None:
    world = cluster()

    async def story() -> None:
        crd = world.store.get("customresourcedefinitions.apiextensions.k8s.io", "", "dnsendpoints.externaldns.k8s.io")
        assert crd is not None
        spec = endpoint(f"old.{ZONE}", "A", "192.0.2.1", recordTTL=-1)
        with pytest.raises(Exception, match="recordTTL"):
            world.apply("old", spec)
        world.apply("good", endpoint(f"good.{ZONE}", "A", "192.0.2.1"))
        async with operating(world, AnsweringMemory((ZONE,)), Rules(zones=(ZONE,), owner="me")):
            await until(lambda: world.ready("good"), lambda: world.says("good"))

    asyncio.run(story())


# ---- servers that answer nonsense, or never

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(2)
    writer.write(struct.pack("!H", 40) + b"\xff" * 40)
    await writer.drain()


async def never(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def goodbye(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(2)
    writer.write(struct.pack("!H", 400) + b"\0" * 10)
    await writer.drain()
    writer.close()


@asynccontextmanager
async def answering(answer: Answer) -> AsyncIterator[int]:
    ports = Ports(HOST)
    port = ports.reserve()

    talking: set[asyncio.Task[None]] = set()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(converse(reader, writer))
        talking.add(task)
        task.add_done_callback(talking.discard)

    server = await asyncio.start_server(connected, HOST, port)
    try:
        yield port
    finally:
        server.close()
        for task in talking:
            task.cancel()
        await asyncio.gather(*talking, return_exceptions=True)
        ports.close()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (nonsense, "answered nonsense"),
        (never, "no answer from"),
        (goodbye, "closed the connection without an answer"),
        (half, "closed the connection without an answer"),
    ],
    ids=["nonsense", "never", "goodbye", "half"],
)
def test_a_name_server_that_answers_nonsense_or_never_is_told(answer: Answer, words: str) -> None:
    async def story() -> None:
        world = cluster()
        world.apply("www", endpoint(f"www.{ZONE}", "A", "192.0.2.1"))
        async with answering(answer) as port:
            provider = Rfc2136Provider(Server(HOST, port, KEY, timeout=0.5), (ZONE,))
            async with operating(world, provider, Rules(zones=(ZONE,), owner="me")):
                await until(lambda: world.says("www")[1] in ("Failed", "NoResponse"), lambda: world.says("www"))
                assert words in world.says("www")[2]
                assert provider.updates == 0

    asyncio.run(story())


def test_a_transfer_that_is_cut_in_the_middle_changes_nothing(bind: Bind) -> None:
    """Rule 22: a proxy lets the serial through, and of the zone only the first bytes."""
    most = 20_000

    async def through(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, sending = await asyncio.open_connection(HOST, bind.port)

        async def forth() -> None:
            while data := await reader.read(65536):
                sending.write(data)

        async def back() -> None:
            passed = 0
            while data := await upstream.read(4096):
                passed += len(data)
                if passed > most:
                    return
                writer.write(data)
                await writer.drain()

        sender = asyncio.ensure_future(forth())
        try:
            await back()
        finally:
            sender.cancel()
            await asyncio.gather(sender, return_exceptions=True)
            sending.close()
            with suppress(OSError):
                await sending.wait_closed()

    async def story() -> None:
        world = cluster()
        direct = Rfc2136Provider(bind.server(), ZONES)
        names = [f"r{index}.{ZONE}" for index in range(400)]
        world.apply("many", *(endpoint(name, "A", "192.0.2.1") for name in names))
        under = Rules(zones=ZONES, owner="me")
        async with operating(world, direct, under):
            await until(lambda: world.ready("many"), lambda: world.says("many"), 60)
        world.apply("new", endpoint(f"new.{ZONE}", "A", "192.0.2.1"))
        async with answering(through) as port:
            provider = Rfc2136Provider(Server(HOST, port, KEY, timeout=5.0), ZONES, querier=Agreeing())
            async with operating(world, provider, under):
                await until(lambda: world.says("new")[1] in ("Failed", "NoResponse"), lambda: world.says("new"))
                assert provider.updates == 0
        assert len((await direct.read(ZONE)).names) == 2 * len(names) + 1

    asyncio.run(story())
