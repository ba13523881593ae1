"""Whatever a name server sends as a zone: read within its limits, and reported by declared errors alone (rule 43)."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import count

import dns.flags
import dns.message
import dns.rdata
import dns.rdatatype
import dns.rrset
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamark.providers.dns.link import Server
from seamark.providers.dns.rfc2136 import Rfc2136Provider
from seamark_cluster.real.ports import Ports
from seamark_runtime.errors import Retry, SeamarkError

HOST, ZONE = "127.0.0.1", "example.test"
LIMITS = Server(HOST, timeout=5.0)
SOA = dns.rrset.from_text(f"{ZONE}.", 300, "IN", "SOA", "ns. host. 7 1 1 1 1")
NS = dns.rrset.from_text(f"{ZONE}.", 300, "IN", "NS", "ns.")
MX = dns.rrset.from_text(f"a.{ZONE}.", 300, "IN", "MX", "10 mx.")
ADDRESS = dns.rdata.from_text("IN", "A", "192.0.2.1")
LONG = dns.rdata.from_text("IN", "MX", f"10 {'ab.' * 80}")
Messages = Callable[[dns.message.Message], Iterator[bytes]]


def answer(query: dns.message.Message, *records: dns.rrset.RRset) -> bytes:
    message = dns.message.make_response(query)
    message.flags |= dns.flags.AA
    message.answer.extend(records)
    return message.to_wire()


@asynccontextmanager
async def server(transfer: Messages, limits: Server = LIMITS) -> AsyncIterator[Rfc2136Provider]:
    """Answers with its serial, and with these messages when it is asked for the zone."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            whole = False
            while not whole:
                (length,) = struct.unpack("!H", await reader.readexactly(2))
                query = dns.message.from_wire(await reader.readexactly(length))
                whole = query.question[0].rdtype != dns.rdatatype.SOA
                for message in transfer(query) if whole else [answer(query, SOA)]:
                    writer.write(struct.pack("!H", len(message)) + message)
                    await writer.drain()
                    await asyncio.sleep(0)  # the kernel takes megabytes before a drain waits
        writer.transport.abort()

    talking: set[asyncio.Task[None]] = set()
    with Ports(HOST) as ports:
        port = ports.reserve()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            talking.add(asyncio.create_task(converse(reader, writer)))

        listening = await asyncio.start_server(connected, HOST, port)
        try:
            yield Rfc2136Provider(replace(limits, port=port), (ZONE,))
        finally:
            listening.close()
            for task in talking:
                task.cancel()
            await asyncio.gather(*talking, return_exceptions=True)


def read(transfer: Messages, limits: Server = LIMITS) -> set[str]:
    async def story() -> set[str]:
        async with server(transfer, limits) as provider:
            return set((await provider.read(ZONE)).names)

    return asyncio.run(story())


def test_a_zone_is_read() -> None:
    assert read(lambda query: iter([answer(query, SOA, NS, MX, SOA)])) == {ZONE, f"a.{ZONE}"}


def test_a_record_that_can_t_be_in_the_zone_is_nonsense() -> None:
    other = dns.rrset.from_text(f"a.{ZONE}.", 300, "CH", "TXT", "x")
    with pytest.raises(Retry, match=r"answered nonsense: .*RdataClass"):
        read(lambda query: iter([answer(query, SOA, other, SOA)]))


def endless(records: Callable[[int], dns.rrset.RRset]) -> Messages:
    """A transfer that never comes to its end."""

    def messages(query: dns.message.Message) -> Iterator[bytes]:
        yield answer(query, SOA)
        for first in count(0, 50):
            yield answer(query, *(records(number) for number in range(first, first + 50)))

    return messages


def unique(number: int) -> dns.rrset.RRset:
    return dns.rrset.from_rdata(f"h{number}.{ZONE}.", 300, ADDRESS)


def same(_: int) -> dns.rrset.RRset:
    return dns.rrset.from_rdata(f"h.{ZONE}.", 300, ADDRESS)


def compressed(number: int) -> dns.rrset.RRset:
    """Short on the wire, where the long name is two bytes; as objects it is many labels."""
    return dns.rrset.from_rdata(f"h{number}.{ZONE}.", 300, LONG)


@pytest.mark.parametrize(
    ("records", "limit"),
    [(unique, "200 records"), (compressed, "200 records"), (same, "51200 bytes")],
    ids=["unique records", "long names", "one record again and again"],
)
def test_a_transfer_without_end_is_cut_at_the_limit(records: Callable[[int], dns.rrset.RRset], limit: str) -> None:
    """Rule 43."""
    expected = rf"127.0.0.1:\d+: the transfer has more than {limit}, which is the limit \(dns_largest_zone\)"
    with pytest.raises(Retry, match=expected):
        read(endless(records), replace(LIMITS, largest=200))


def test_a_zone_as_large_as_the_limit_is_read_and_a_larger_one_is_not() -> None:
    def whole(query: dns.message.Message) -> Iterator[bytes]:
        yield answer(query, SOA, NS, *(unique(number) for number in range(997)), SOA)

    assert len(read(whole, replace(LIMITS, largest=1000))) == 998
    with pytest.raises(Retry, match="more than 999 records"):
        read(whole, replace(LIMITS, largest=999))


def test_a_transfer_has_one_deadline_however_many_messages_arrive_in_time() -> None:
    """Rule 43."""
    expected = rf"the transfer of {ZONE} did not end within 0.5 s, which is the limit \(dns_transfer_timeout\)"
    with pytest.raises(Retry, match=expected):
        read(endless(same), replace(LIMITS, largest=10**9, transfer_timeout=0.5))


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(st.integers(2, 200), st.binary(max_size=4), st.integers(0, 4)), min_size=20, max_size=20))
def test_any_bytes_within_a_transfer_give_a_content_or_a_declared_error(changes: list[tuple[int, bytes, int]]) -> None:
    left = list(changes)

    def broken(query: dns.message.Message) -> Iterator[bytes]:
        at, put, cut = left[-1]
        good = answer(query, SOA, NS, MX, SOA)
        yield good[:at] + put + good[at + cut :]

    async def story() -> None:
        while left:
            async with server(broken) as provider:
                try:
                    await provider.read(ZONE)
                except SeamarkError as error:
                    error.message.encode()
            left.pop()

    asyncio.run(story())
