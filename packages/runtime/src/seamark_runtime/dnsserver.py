"""An authoritative DNS server over UDP and TCP: listeners, framing and limits. Its user fills in the answers.

- A message that cannot be parsed is answered with FORMERR; a response, or less than a header, is dropped.
- An exception while answering is SERVFAIL for that query; the server keeps running.
- A UDP response is at most 1,232 bytes; a longer one is truncated (TC), and the client asks again over TCP.
- At most 256 TCP connections are open. A connection is closed after 10 seconds without a complete query, and is not
  read while its responses are not.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import cast

import dns.exception
import dns.flags
import dns.message
import dns.opcode
import dns.rcode
import dns.rdataclass
import dns.rrset
import structlog

from seamark_runtime.errors import UserError

log = structlog.get_logger(__name__)

IDLE = 10.0  # seconds
MAX_CONNECTIONS = 256
MAX_TCP, MAX_UDP, MIN_UDP = 65535, 1232, 512  # bytes of a response; 1232 fits into the packets of any network
HEADER = 12  # bytes

Fill = Callable[[dns.rrset.RRset, dns.message.Message], None]


class DnsServer:
    """Listens on one address, on both transports, until closed.

    `fill` gets the question of a query (one question of class IN) and its empty response. It sets the response code
    and adds records.
    """

    def __init__(self, fill: Fill) -> None:
        self._fill = fill
        self._udp: asyncio.DatagramTransport | None = None
        self._tcp: asyncio.Server | None = None
        self._connections: set[_Connection] = set()  # those that are open

    async def start(self, host: str, port: int = 53) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._tcp = await loop.create_server(lambda: _Connection(self.reply, self._connections), host, port)
            self._udp, _ = await loop.create_datagram_endpoint(lambda: _Datagrams(self.reply), local_addr=(host, port))
        except OSError as error:
            self.close()
            hint = "choose another address, or run with the rights for port 53"
            raise UserError(f"can't serve DNS on {host}:{port} ({error.strerror or error})", hint=hint) from None

    def close(self) -> None:
        """Frees the address at once; queries that are not answered yet are dropped."""
        if self._udp is not None:
            self._udp.close()
            self._udp = None
        if self._tcp is not None:
            self._tcp.close()
            self._tcp = None
        for connection in list(self._connections):
            connection.close()

    def reply(self, wire: bytes, *, stream: bool) -> bytes | None:
        """The response to a message as it goes over TCP (`stream`) or UDP; None where there is none."""
        try:
            query = dns.message.from_wire(wire, ignore_trailing=True)
        except dns.exception.DNSException:
            return _format_error(wire)
        if query.flags & dns.flags.QR:
            return None
        response = self._respond(query)
        udp = min(MAX_UDP, max(MIN_UDP, query.payload)) if query.edns >= 0 else MIN_UDP
        try:
            return response.to_wire(max_size=MAX_TCP if stream else udp)
        except dns.exception.TooBig:
            truncated = dns.message.make_response(query)
            truncated.flags |= dns.flags.TC | dns.flags.AA
            return truncated.to_wire()

    def _respond(self, query: dns.message.Message) -> dns.message.Message:
        response = dns.message.make_response(query, our_payload=MAX_UDP)
        if query.opcode() != dns.opcode.QUERY:
            response.set_rcode(dns.rcode.NOTIMP)
        elif len(query.question) != 1:
            response.set_rcode(dns.rcode.FORMERR)
        elif query.question[0].rdclass != dns.rdataclass.IN:
            response.set_rcode(dns.rcode.REFUSED)
        else:
            try:
                self._fill(query.question[0], response)
            except Exception:  # a record that is not valid DNS fails the queries for its own name only
                log.exception("DNS query failed", question=str(query.question[0]))
                response = dns.message.make_response(query)
                response.set_rcode(dns.rcode.SERVFAIL)
        return response


def _format_error(wire: bytes) -> bytes | None:
    if len(wire) < HEADER or wire[2] & 0x80:
        return None
    return wire[:2] + bytes((0x80 | (wire[2] & 0x79), dns.rcode.FORMERR)) + bytes(8)


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, reply: Callable[..., bytes | None]) -> None:
        self._reply = reply

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)  # uvloop's class is not a subclass

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        response = self._reply(data, stream=False)
        if response is not None:
            self._transport.sendto(response, addr)

    def error_received(self, exc: Exception) -> None:
        """The client closed its port before the response arrived."""


class _Connection(asyncio.Protocol):
    """One TCP connection: messages with a length of two bytes before each, answered in order."""

    def __init__(self, reply: Callable[..., bytes | None], connections: set[_Connection]) -> None:
        self._reply = reply
        self._connections = connections
        self._data = b""
        self._paused = False  # the client does not read its responses
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._connections.add(self)
        self._restart_timer()
        if len(self._connections) > MAX_CONNECTIONS:
            self.close()

    def data_received(self, data: bytes) -> None:
        self._data += data
        self._answer()

    def pause_writing(self) -> None:
        self._paused = True
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._paused = False
        if self._transport is not None:
            self._transport.resume_reading()
            self._answer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _answer(self) -> None:
        while not self._paused and len(self._data) >= 2 and self._transport is not None:
            (length,) = struct.unpack_from("!H", self._data)
            if len(self._data) < 2 + length:
                return
            message, self._data = self._data[2 : 2 + length], self._data[2 + length :]
            response = self._reply(message, stream=True)
            if response is None:
                self._transport.close()
                return
            self._transport.write(struct.pack("!H", len(response)) + response)
            self._restart_timer()

    def _restart_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(IDLE, self.close)
