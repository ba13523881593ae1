"""TLS inside a stream, without a network: a client's TLS on one side, plain bytes on the other."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from seamark_edge.wire.muxado import Code
from seamark_edge.wire.muxado.frames import Bytes
from seamark_edge.wire.secured import SecuredStream
from tests.edge.tls import pair, server_tls

HOST = "inside.example.com"


class Channel:
    """A stream in memory: what was sent on it, what was credited."""

    def __init__(self) -> None:
        self.sent = b""
        self.credited = 0
        self.finished = False
        self.code: int | None = None
        self.full = False
        self.open = True

    def write(self, data: Bytes) -> bool:
        self.sent += bytes(data)
        return not self.full

    def finish(self) -> None:
        self.finished = True

    def credit(self, count: int) -> None:
        self.credited += count

    def reset(self, code: int) -> None:
        self.code = code

    def abandon(self) -> None:
        self.finished = True

    def forget(self) -> None:
        self.open = False


class Inner:
    """The handler of the plain bytes."""

    def __init__(self) -> None:
        self.got = b""
        self.over = False
        self.code: int | None = None
        self.woken = 0

    def received(self, data: Bytes) -> None:
        self.got += bytes(data)

    def ended(self) -> None:
        self.over = True

    def lost(self, code: int) -> None:
        self.code = code

    def writable(self) -> None:
        self.woken += 1


class Client:
    """A client's TLS over the stream."""

    def __init__(self, context: ssl.SSLContext, ca: str, step: int = 1 << 20, mine: str = "") -> None:
        self.channel, self.inner, self.shaken = Channel(), Inner(), 0
        self.secured = SecuredStream(self.channel, context, self.inner, self._shaken)
        trust = ssl.create_default_context(cafile=ca)
        if mine:
            trust.load_cert_chain(mine)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = trust.wrap_bio(self._in, self._out, server_hostname=HOST)
        self.step = step
        self.records = 0

    def _shaken(self) -> None:
        self.shaken += 1

    def carry(self) -> None:
        """Bytes both ways, until neither side has more to send."""
        while True:
            out = self._out.read()
            self.records += len(out)
            for at in range(0, len(out), self.step):
                self.secured.received(out[at : at + self.step])
            back, self.channel.sent = self.channel.sent, b""
            self._in.write(back)
            if not out and not back:
                return

    def shake(self) -> None:
        for _ in range(10):
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                self.carry()
            else:
                self.carry()
                return
        raise AssertionError("the handshake does not end")


@pytest.fixture
def server(tmp_path: Path) -> tuple[ssl.SSLContext, str]:
    return server_tls(tmp_path, HOST)


@pytest.mark.parametrize("step", [1 << 20, 7, 1])
def test_bytes_go_both_ways_however_the_records_are_cut(server: tuple[ssl.SSLContext, str], step: int) -> None:
    client = Client(*server, step=step)
    client.shake()
    assert client.shaken == 1
    client.tls.write(b"to the service")
    client.carry()
    assert client.inner.got == b"to the service"
    assert client.secured.write(b"to the client")
    client.carry()
    assert client.tls.read(100) == b"to the client"


def test_what_the_service_says_before_the_handshake_waits_for_it(server: tuple[ssl.SSLContext, str]) -> None:
    client = Client(*server)
    assert not client.secured.write(b"hello first")
    assert client.channel.sent == b""
    client.shake()
    client.carry()
    assert client.tls.read(100) == b"hello first"


def test_records_are_credited_when_their_plain_bytes_are_passed_on(server: tuple[ssl.SSLContext, str]) -> None:
    client = Client(*server)
    client.shake()
    assert client.channel.credited == client.records  # a handshake is not passed on
    client.tls.write(b"x" * 1000)
    client.carry()
    before = client.channel.credited
    assert before < client.records
    client.secured.credit(999)
    assert client.channel.credited == before
    client.secured.credit(1)
    assert client.channel.credited == client.records


def test_a_full_stream_holds_the_service_back(server: tuple[ssl.SSLContext, str]) -> None:
    client = Client(*server)
    client.shake()
    client.channel.full = True
    assert not client.secured.write(b"more")
    client.secured.writable()
    assert client.inner.woken == 1


def test_goodbyes_travel_as_half_closes(server: tuple[ssl.SSLContext, str]) -> None:
    client = Client(*server)
    client.shake()
    client.secured.finish()
    client.secured.finish()
    client.carry()
    assert client.channel.finished
    assert client.tls.read(10) == b""
    client.tls.write(b"still here")
    client.carry()
    assert (client.inner.got, client.inner.over) == (b"still here", False)
    client.secured.ended()
    assert client.inner.over


def test_a_client_without_a_certificate_does_not_get_past_the_handshake(
    server: tuple[ssl.SSLContext, str], tmp_path: Path
) -> None:
    context, ca = server
    certificate, key = pair("a client")
    (tmp_path / "mine.pem").write_bytes(certificate + key)
    context.load_verify_locations(cadata=certificate.decode())
    context.verify_mode = ssl.CERT_REQUIRED
    known = Client(context, ca, mine=str(tmp_path / "mine.pem"))
    known.shake()
    assert known.shaken == 1
    stranger = Client(context, ca)
    stranger.shake()
    assert (stranger.shaken, stranger.inner.code, stranger.channel.finished) == (0, Code.PROTOCOL, True)
    stranger.carry()
    with pytest.raises(ssl.SSLError):
        stranger.tls.read(1)


@pytest.mark.parametrize("noise", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"\0" * 100, b"\0" * 600])
def test_noise_ends_the_stream_and_loses_the_inner_side(server: tuple[ssl.SSLContext, str], noise: bytes) -> None:
    client = Client(*server)
    client.secured.received(noise)
    assert (client.shaken, client.inner.code, client.channel.finished) == (0, Code.PROTOCOL, True)


def test_the_rest_is_passed_through(server: tuple[ssl.SSLContext, str]) -> None:
    client: Any = Client(*server)
    client.secured.reset(5)
    client.secured.lost(7)
    client.secured.abandon()
    client.secured.forget()
    assert (client.channel.code, client.inner.code, client.channel.finished) == (5, 7, True)
    assert not client.secured.open


@pytest.mark.parametrize("early", [False, True], ids=["in place of a handshake", "behind it"])
def test_noise_ends_the_stream_once_and_what_comes_behind_it_is_dropped(
    server: tuple[ssl.SSLContext, str], *, early: bool
) -> None:
    client = Client(*server)
    if early:
        client.shake()
    for _ in range(3):
        client.secured.received(b"\x17\x03\x03\x00\x20" + b"noise" * 20)
    assert (client.channel.finished, client.inner.code, client.inner.got) == (True, Code.PROTOCOL, b"")
    credited = client.channel.credited
    client.secured.received(b"more")
    assert client.channel.credited == credited
    client.secured.write(b"nobody reads this")
