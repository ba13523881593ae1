"""Answers questions about a memory provider's zones on a real port, so that `dig` and resolvers can be used with it.

- Authoritative, over UDP and TCP: records, aliases within a zone, wildcards, and both kinds of nothing (RFC 2308).
- It takes no updates and hands out no zones; for those there are name servers.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Sequence
from typing import cast

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdatatype
import dns.rrset

from seamark.core.errors import Retry, UserError
from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.dns.model import Content, Record, zone_of
from seamark.providers.dns.names import within
from seamark.providers.dns.rdata import IN, absolute, name_of, rdataset

DEFAULT_TTL = 300
LARGEST_TCP, SMALLEST_UDP = 65535, 512
LARGEST_UDP = 1232  # what fits in any network's packets
MOST_ALIASES = 8
PATIENCE = 30.0  # seconds for which a connection may last


class MemoryServer:
    """Serves until closed. Whatever arrives is answered or dropped; nothing ends it."""

    def __init__(self, provider: MemoryProvider) -> None:
        self._provider = provider
        self._datagrams: asyncio.DatagramTransport | None = None
        self._streams: asyncio.Server | None = None
        self._conversations: set[asyncio.Task[None]] = set()

    async def start(self, host: str, port: int) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._streams = await asyncio.start_server(self._connected, host, port)
            self._datagrams, _ = await loop.create_datagram_endpoint(lambda: _Datagrams(self), local_addr=(host, port))
        except OSError as error:
            await self.close()
            raise UserError(
                f"can't serve DNS on {host}:{port} ({error.strerror})", hint="choose another port"
            ) from None

    async def close(self) -> None:
        if self._datagrams is not None:
            self._datagrams.close()
        if self._streams is not None:
            self._streams.close()
            await self._streams.wait_closed()
        for conversation in self._conversations:
            conversation.cancel()
        await asyncio.gather(*self._conversations, return_exceptions=True)

    def answer(self, wire: bytes, *, largest: int) -> bytes | None:
        """The answer to a message; None for what is no question."""
        try:
            query = dns.message.from_wire(wire)
        except dns.exception.DNSException:
            return None
        if query.flags & dns.flags.QR:
            return None
        response = dns.message.make_response(query)
        self._fill(query, response)
        limit = largest if largest == LARGEST_TCP else min(largest, query.payload) if query.edns >= 0 else SMALLEST_UDP
        try:
            return response.to_wire(max_size=max(limit, SMALLEST_UDP))
        except dns.exception.TooBig:
            cut = dns.message.make_response(query)
            cut.flags |= dns.flags.TC | dns.flags.AA
            return cut.to_wire()

    def _fill(self, query: dns.message.Message, response: dns.message.Message) -> None:
        if query.opcode() != dns.opcode.QUERY or len(query.question) != 1:
            response.set_rcode(dns.rcode.NOTIMP)
            return
        question = query.question[0]
        name, zone = name_of(question.name), zone_of(name_of(question.name), self._provider.zones)
        if zone is None or question.rdclass != IN or question.rdtype in (dns.rdatatype.AXFR, dns.rdatatype.IXFR):
            response.set_rcode(dns.rcode.REFUSED)
            return
        response.flags |= dns.flags.AA
        content = self._provider.content(zone)
        type_ = dns.rdatatype.to_text(question.rdtype)
        if type_ == "SOA" and name == zone:
            response.answer.append(soa(content))
            return
        self._follow(content, name, type_, response)

    def _follow(self, content: Content, name: str, type_: str, response: dns.message.Message) -> None:
        for _ in range(MOST_ALIASES):
            found = standing(content, name)
            if found is None:
                response.set_rcode(dns.rcode.NXDOMAIN)
                break
            wanted = [one for one in found if type_ in (one.type, "ANY")]
            response.answer += [rrset(name, one) for one in wanted]
            alias = next((one for one in found if one.type == "CNAME"), None)
            if wanted or alias is None:
                break
            response.answer.append(rrset(name, alias))
            name = alias.targets[0]
            if not within(name, content.zone):
                return  # the rest is for somebody else to say
        if not response.answer or response.rcode() != dns.rcode.NOERROR:
            response.authority.append(soa(content))

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._converse(reader, writer))
        self._conversations.add(task)
        task.add_done_callback(self._conversations.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    (length,) = struct.unpack("!H", await reader.readexactly(2))
                    answer = self.answer(await reader.readexactly(length), largest=LARGEST_TCP)
                    if answer is None:
                        break
                    writer.write(struct.pack("!H", len(answer)) + answer)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError):
            pass  # whoever asked has gone, or asks no more
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


class ServedMemory(MemoryProvider):
    """Zones in this process that are answered on a real port from the first time that they are read.

    A port that can't be had is a trouble of the zones: who has records there is told, and it is tried again.
    """

    def __init__(self, zones: Sequence[str], host: str, port: int) -> None:
        super().__init__(zones)
        self._place = (host, port)
        self._server: MemoryServer | None = None
        self._starting = asyncio.Lock()

    async def read(self, zone: str) -> Content:
        async with self._starting:
            if self._server is None:
                server = MemoryServer(self)
                try:
                    await server.start(*self._place)
                except UserError as error:
                    raise Retry(error.message) from None
                self._server = server
        return await super().read(zone)

    async def close(self) -> None:
        if self._server is not None:
            await self._server.close()
            self._server = None


class _Datagrams(asyncio.DatagramProtocol):
    """A question is a packet, and so is its answer."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        answer = self._server.answer(data, largest=LARGEST_UDP)
        if answer is not None:
            self._transport.sendto(answer, addr)


def standing(content: Content, name: str) -> tuple[Record, ...] | None:
    """What is at a name, or at the wildcard for it; empty where there is only something below it; None for nothing."""
    if name in content.names:
        return content.names[name]
    if name == content.zone or any(other.endswith(f".{name}") for other in content.names):
        return ()
    parent = name
    while parent != content.zone and "." in parent:
        parent = parent.partition(".")[2]
        if (star := f"*.{parent}") in content.names:
            return content.names[star]
        if parent in content.names:
            return None  # a name that is there ends the search for a wildcard (RFC 4592)
    return None


def rrset(name: str, record: Record) -> dns.rrset.RRset:
    found = rdataset(record, record.ttl or DEFAULT_TTL)
    return dns.rrset.from_rdata_list(absolute(name), found.ttl, list(found))


def soa(content: Content) -> dns.rrset.RRset:
    text = f"ns.{content.zone}. admin.{content.zone}. {content.serial} 3600 600 86400 60"
    return dns.rrset.from_text(absolute(content.zone), 60, "IN", "SOA", text)
