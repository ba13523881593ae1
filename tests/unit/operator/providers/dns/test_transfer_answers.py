"""Whatever a name server sends as a zone: read within its limits, and reported by declared errors alone (rule 43)."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress

import dns.flags
import dns.message
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
SOA = dns.rrset.from_text(f"{ZONE}.", 300, "IN", "SOA", "ns. host. 7 1 1 1 1")
NS = dns.rrset.from_text(f"{ZONE}.", 300, "IN", "NS", "ns.")
MX = dns.rrset.from_text(f"a.{ZONE}.", 300, "IN", "MX", "10 mx.")
Messages = Callable[[dns.message.Message], Iterator[bytes]]


def answer(query: dns.message.Message, *records: dns.rrset.RRset) -> bytes:
    message = dns.message.make_response(query)
    message.flags |= dns.flags.AA
    message.answer.extend(records)
    return message.to_wire()


@asynccontextmanager
async def server(transfer: Messages) -> AsyncIterator[Rfc2136Provider]:
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
        writer.transport.abort()

    talking: set[asyncio.Task[None]] = set()
    with Ports(HOST) as ports:
        port = ports.reserve()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            talking.add(asyncio.create_task(converse(reader, writer)))

        listening = await asyncio.start_server(connected, HOST, port)
        try:
            yield Rfc2136Provider(Server(HOST, port, timeout=5.0), (ZONE,))
        finally:
            listening.close()
            for task in talking:
                task.cancel()
            await asyncio.gather(*talking, return_exceptions=True)


def read(transfer: Messages) -> set[str]:
    async def story() -> set[str]:
        async with server(transfer) as provider:
            return set((await provider.read(ZONE)).names)

    return asyncio.run(story())


def test_a_zone_is_read() -> None:
    assert read(lambda query: iter([answer(query, SOA, NS, MX, SOA)])) == {ZONE, f"a.{ZONE}"}


def test_a_record_that_can_t_be_in_the_zone_is_nonsense() -> None:
    other = dns.rrset.from_text(f"a.{ZONE}.", 300, "CH", "TXT", "x")
    with pytest.raises(Retry, match=r"answered nonsense: .*RdataClass"):
        read(lambda query: iter([answer(query, SOA, other, SOA)]))


def test_a_transfer_without_end_is_cut_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seamark.providers.dns.link.MAX_TRANSFER_BYTES", 300_000)

    def endless(query: dns.message.Message) -> Iterator[bytes]:
        yield answer(query, SOA)
        large = dns.rrset.from_text(f"h.{ZONE}.", 300, "IN", "TXT", *(f"{number:0200}" for number in range(200)))
        message = answer(query, large)
        while True:
            yield message

    with pytest.raises(Retry, match="the transfer has more than 300000 bytes, which is the limit"):
        read(endless)


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
