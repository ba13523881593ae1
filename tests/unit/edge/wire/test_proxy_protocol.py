"""PROXY protocol headers."""

from __future__ import annotations

import ipaddress
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark_edge.wire.proxy_protocol import Address, ProxyError, header, parse

ports = st.integers(0, 0xFFFF)
fours = st.builds(Address, st.ip_addresses(v=4).map(str), ports)
sixes = st.builds(Address, st.ip_addresses(v=6).map(str), ports)


@given(st.sampled_from([1, 2]), st.tuples(fours, fours) | st.tuples(sixes, sixes), st.binary(max_size=20))
def test_a_header_is_read_as_it_was_written(version: int, ends: tuple[Address, Address], after: bytes) -> None:
    data = header(version, *ends)
    assert parse(data + after) == (ends, len(data))
    for size in range(1, len(data)):
        assert parse(data[:size]) is None


def test_the_bytes_are_those_of_the_specification() -> None:
    ends = Address("192.0.2.1", 56324), Address("198.51.100.7", 443)
    assert header(1, *ends) == b"PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n"
    assert header(2, *ends) == (
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes([192, 0, 2, 1, 198, 51, 100, 7]) + b"\xdc\x04\x01\xbb"
    )


def test_addresses_of_two_families_are_both_written_as_ipv6() -> None:
    data = header(2, Address("2001:db8::1", 1), Address("192.0.2.9", 2))
    parsed = parse(data)
    assert parsed is not None
    assert parsed[0] is not None
    assert ipaddress.ip_address(parsed[0][1].host) == ipaddress.ip_address("::ffff:192.0.2.9")


@given(st.binary(max_size=150))
def test_any_bytes_are_a_header_or_incomplete_or_an_error(data: bytes) -> None:
    for prefix in (b"", b"PROXY TCP4 ", b"\r\n\r\n\0\r\nQUIT\n\x21"):
        with suppress(ProxyError):
            parse(prefix + data)


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n",
        b"PROXY TCP4 ::1 ::1 1 2\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 1 70000\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 01 2\r\n",
        b"PROXY " + b"x" * 200,
        b"\r\n\r\n\0\r\nQUIT\n\x31\x11\0\x0c",
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff",
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x04abcd",
    ],
)
def test_what_is_no_header_is_refused(data: bytes) -> None:
    with pytest.raises(ProxyError):
        parse(data)
