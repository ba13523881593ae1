"""Server names out of ClientHello records, as OpenSSL writes them."""

from __future__ import annotations

import ssl
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark_edge.wire.clienthello import NotTls, server_name


def hello(name: str | None) -> bytes:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


PLAIN = hello("a.example")


def test_the_name_is_read_and_lowered() -> None:
    assert server_name(hello("App.Example.COM")) == "app.example.com"


def test_no_name_is_an_empty_one() -> None:
    assert server_name(hello(None)) == ""


def test_it_says_how_many_bytes_it_wants_until_it_can_tell() -> None:
    data = hello("a.example")
    size = 0
    while isinstance(wanted := server_name(data[:size]), int):
        assert wanted > size
        size = wanted
    assert (wanted, size) == ("a.example", len(data))


@given(st.binary(max_size=400), st.integers(0, 300))
def test_any_bytes_give_a_name_a_wish_or_an_error(data: bytes, position: int) -> None:
    real = bytearray(PLAIN)
    real[position : position + 4] = data[:4]
    for candidate in (data, bytes(real), b"\x16\x03\x01" + data):
        with suppress(NotTls):
            assert isinstance(server_name(candidate), int | str)


def test_plain_http_is_not_tls() -> None:
    with pytest.raises(NotTls):
        server_name(b"GET / HTTP/1.1\r\n")
