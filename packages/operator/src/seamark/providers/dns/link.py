"""DNS messages over TCP or TLS, signed by TSIG where there is a key."""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import dns.exception
import dns.message
import dns.name
import dns.rcode
import dns.tsig
import dns.xfr

from seamark.providers.dns.model import NoResponse, Unwritable
from seamark_runtime.errors import Retry

RECORD_BYTES = 96  # a longer record counts as several: it becomes more objects
WIRE_BYTES = 256  # on the wire, for each record that a zone may have
ALGORITHMS = ("hmac-sha1", "hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512")


@dataclass(frozen=True)
class TsigKey:
    """A shared secret, in base64 as in a name server's configuration. It is not shown."""

    name: str
    secret: str = field(repr=False)
    algorithm: str = "hmac-sha256"

    def key(self) -> dns.tsig.Key:
        return dns.tsig.Key(self.name, self.secret, self.algorithm)


@dataclass(frozen=True)
class Server:
    host: str
    port: int = 53
    key: TsigKey | None = None
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    timeout: float = 10.0  # for one message
    transfer_timeout: float = 60.0  # for reading a zone, however many messages it has
    largest: int = 100_000  # records of a zone

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def tls_context(ca: str = "") -> ssl.SSLContext:
    """Trusts this file, or the system's roots. It announces DNS by ALPN, or no zone is transferred (RFC 9103)."""
    context = ssl.create_default_context(cafile=ca or None)
    context.set_alpn_protocols(["dot"])
    return context


class Link:
    """One connection. Every answer has the id of its question and, where there is a key, a valid signature."""

    def __init__(self, server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._server = server
        self._reader = reader
        self._writer = writer

    async def query_server(self, query: dns.message.Message) -> dns.message.Message:
        await self._send(query)
        answer = self._parsed(await self._receive(), query)
        if not query.is_response(answer):
            raise Retry(f"{self._server} answered something else")
        return answer

    async def transfer(self, query: dns.message.Message, inbound: dns.xfr.Inbound) -> None:
        """Feeds the whole of an answer of many messages, or raises."""
        await self._send(query)
        context, first, size, count = None, True, 0, 0
        while True:
            wire = await self._receive()
            size += len(wire)
            if size > WIRE_BYTES * self._server.largest:
                raise self._too_large(f"{WIRE_BYTES * self._server.largest} bytes")
            try:
                # A message has up to 65,535 bytes: in a thread it does not hold up the others for as long as it takes.
                message, ended = await asyncio.to_thread(self._fed, query, inbound, wire, context, first=first)
            except dns.exception.DNSException as error:
                self._refused_key(wire, error)
                raise
            count += await asyncio.to_thread(_records, message)
            if count > self._server.largest:
                raise self._too_large(f"{self._server.largest} records")
            if ended:
                return
            context, first = message.tsig_ctx, False

    def _too_large(self, limit: str) -> Retry:
        return Retry(f"{self._server}: the transfer has more than {limit}, which is the limit (dns_largest_zone)")

    def _fed(
        self, query: dns.message.Message, inbound: dns.xfr.Inbound, wire: bytes, context: Any, *, first: bool
    ) -> tuple[dns.message.Message, bool]:
        message = dns.message.from_wire(
            wire,
            keyring=query.keyring,
            request_mac=query.mac,
            xfr=True,
            tsig_ctx=context,
            multi=True,
            one_rr_per_rrset=inbound.rdtype == dns.rdatatype.IXFR,
        )
        if not query.is_response(message, xfr_continuation=not first):
            raise Retry(f"{self._server} answered something else")
        try:
            return message, inbound.process_message(message)
        except ValueError as error:  # the library's word for records that can't be in this zone
            raise Retry(f"{self._server} answered nonsense: {_describe(error)}") from None

    async def _send(self, query: dns.message.Message) -> None:
        if self._server.key is not None:
            key = self._server.key.key()
            query.use_tsig({key.name: key}, key.name)
        wire = await asyncio.to_thread(query.to_wire, max_size=65535)
        self._writer.write(struct.pack("!H", len(wire)) + wire)
        await self._writer.drain()

    async def _receive(self) -> bytes:
        try:
            async with asyncio.timeout(self._server.timeout):
                (length,) = struct.unpack("!H", await self._reader.readexactly(2))
                return await self._reader.readexactly(length)
        except TimeoutError:
            raise NoResponse(f"no answer from {self._server} within {self._server.timeout:g} s") from None

    def _refused_key(self, wire: bytes, error: Exception) -> None:
        """Raises if the answer could not be read because the server does not take our key."""
        if isinstance(error, dns.tsig.PeerError):
            raise Unwritable(f"{self._server} refused the key: {_describe(error)}") from None
        if self._server.key is None:
            return
        with suppress(dns.exception.DNSException):  # some servers refuse without a signature
            rcode = dns.message.from_wire(wire, ignore_trailing=True).rcode()
            if rcode in (dns.rcode.NOTAUTH, dns.rcode.REFUSED):
                raise Unwritable(f"{self._server} refused the key ({dns.rcode.to_text(rcode)})") from None

    def _parsed(self, wire: bytes, query: dns.message.Message) -> dns.message.Message:
        try:
            answer = dns.message.from_wire(wire, keyring=query.keyring, request_mac=query.mac)
        except dns.exception.DNSException as error:
            self._refused_key(wire, error)
            raise
        if query.keyring and not answer.had_tsig and answer.rcode() == dns.rcode.NOERROR:
            raise Retry(f"{self._server} answered without a signature")
        return answer


@asynccontextmanager
async def connected(server: Server) -> AsyncIterator[Link]:
    """A connection for a few questions; whatever goes wrong on the way is a `Retry` in words."""
    try:
        async with asyncio.timeout(server.timeout):
            reader, writer = await asyncio.open_connection(server.host, server.port, ssl=server.tls)
    except TimeoutError:
        raise NoResponse(f"no answer from {server} within {server.timeout:g} s") from None
    except ssl.SSLError as error:
        raise Retry(f"no connection to {server}: {error.strerror or error}") from None
    except OSError as error:
        raise NoResponse(f"no connection to {server}: {error.strerror or error}") from None
    try:
        yield Link(server, reader, writer)
    except (asyncio.IncompleteReadError, ConnectionError):
        raise NoResponse(f"{server} closed the connection without an answer") from None
    except dns.xfr.TransferError:
        raise
    except dns.exception.DNSException as error:
        raise Retry(f"{server} answered nonsense: {_describe(error)}") from None
    finally:
        if server.tls is not None:
            writer.transport.abort()  # all was received; a slow close would take half a minute
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def _records(message: dns.message.Message) -> int:
    """How many records a message counts as, by their length without compression."""
    count = 0
    for rrset in message.answer:
        name = len(rrset.name.to_wire() or b"")
        count += sum(1 + (name + len(rdata.to_wire() or b"")) // RECORD_BYTES for rdata in rrset)
    return count


def _describe(error: Exception) -> str:
    return (str(error) or type(error).__name__).rstrip(".")
