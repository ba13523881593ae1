"""The DNS server on sockets: both transports, several queries on one connection, limits, a port that is taken."""

from __future__ import annotations

import asyncio
import socket
import struct

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest
import uvloop

from seamark_runtime import dnsserver
from seamark_runtime.dnsserver import DnsServer
from seamark_runtime.errors import UserError

HOST = "127.0.0.1"


def fill(question: dns.rrset.RRset, response: dns.message.Message) -> None:
    """Answers with as many TXT records of 250 bytes as the first label says."""
    for number in range(int(question.name.labels[0])):
        text = f"{number:05}{'x' * 245}"
        response.answer.append(dns.rrset.from_text(question.name, 1, "IN", "TXT", text))


def query(records: int) -> bytes:
    return dns.message.make_query(f"{records}.example.test", "TXT").to_wire()


def framed(message: bytes) -> bytes:
    return struct.pack("!H", len(message)) + message


async def response_on(reader: asyncio.StreamReader) -> dns.message.Message:
    (length,) = struct.unpack("!H", await reader.readexactly(2))
    return dns.message.from_wire(await reader.readexactly(length))


def unused_port() -> int:
    with socket.create_server((HOST, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


class Client(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.response: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.response.set_result(data)


def test_queries_over_udp_and_tcp_are_answered() -> None:
    async def program() -> None:
        port = unused_port()
        server = DnsServer(fill)
        await server.start(HOST, port)
        transport, client = await asyncio.get_running_loop().create_datagram_endpoint(Client, remote_addr=(HOST, port))
        transport.sendto(query(1))
        assert len(dns.message.from_wire(await asyncio.wait_for(client.response, 5)).answer) == 1
        transport.close()
        reader, writer = await asyncio.open_connection(HOST, port)
        both = framed(query(2)) + framed(query(20))
        writer.write(both[:40])
        await asyncio.sleep(0)
        writer.write(both[40:])
        assert [len((await response_on(reader)).answer[0]) for _ in range(2)] == [2, 20]
        server.close()
        assert await reader.read() == b""
        writer.close()

    uvloop.run(program())


def test_a_client_that_does_not_read_its_responses_is_not_read_and_loses_nothing() -> None:
    queries = 400

    async def program() -> int:
        answered = 0

        def counted(question: dns.rrset.RRset, response: dns.message.Message) -> None:
            nonlocal answered
            answered += 1
            fill(question, response)

        port = unused_port()
        server = DnsServer(counted)
        await server.start(HOST, port)
        reader, writer = await asyncio.open_connection(HOST, port, limit=1024)
        writer.write(framed(query(200)) * queries)
        before = -1
        while not answered or before != answered:  # until the server stops answering
            before = answered
            for _ in range(50):
                await asyncio.sleep(0)
        stalled = answered
        for _ in range(queries):
            await response_on(reader)
        writer.close()
        server.close()
        return stalled

    assert asyncio.run(program()) < queries


def test_connections_beyond_the_limit_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dnsserver, "MAX_CONNECTIONS", 1)

    async def program() -> None:
        port = unused_port()
        server = DnsServer(fill)
        await server.start(HOST, port)
        first, writer = await asyncio.open_connection(HOST, port)
        second, other = await asyncio.open_connection(HOST, port)
        assert await second.read() == b""
        writer.write(framed(query(1)))
        assert len((await response_on(first)).answer) == 1
        writer.close()
        other.close()
        server.close()

    uvloop.run(program())


def test_a_connection_without_a_complete_query_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dnsserver, "IDLE", 0.01)

    async def program() -> None:
        port = unused_port()
        server = DnsServer(fill)
        await server.start(HOST, port)
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(b"\0")
        assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()
        server.close()

    uvloop.run(program())


def test_a_port_that_is_taken_is_reported_in_one_line() -> None:
    async def program(port: int) -> None:
        await DnsServer(fill).start(HOST, port)

    with socket.create_server((HOST, 0)) as taken, pytest.raises(UserError, match="can't serve DNS on"):
        uvloop.run(program(taken.getsockname()[1]))


def test_a_response_that_is_too_long_for_udp_is_truncated() -> None:
    server = DnsServer(fill)
    short, whole = server.reply(query(20), stream=False), server.reply(query(20), stream=True)
    assert short is not None
    assert whole is not None
    assert dns.message.from_wire(short).flags & dns.flags.TC
    assert len(dns.message.from_wire(whole).answer[0]) == 20


@pytest.mark.parametrize(
    ("text", "rcode"),
    [
        ("opcode UPDATE\n;ZONE\nexample.test. IN SOA\n", "NOTIMP"),
        ("opcode QUERY\n;QUESTION\n", "FORMERR"),
        ("opcode QUERY\n;QUESTION\n1.example.test. CH TXT\n", "REFUSED"),
        ("opcode QUERY\n;QUESTION\nnot-a-number.example.test. IN TXT\n", "SERVFAIL"),
    ],
)
def test_a_query_that_can_not_be_answered_gets_its_response_code(text: str, rcode: str) -> None:
    wire = DnsServer(fill).reply(dns.message.from_text(text).to_wire(), stream=False)
    assert wire is not None
    assert dns.rcode.to_text(dns.message.from_wire(wire).rcode()) == rcode
