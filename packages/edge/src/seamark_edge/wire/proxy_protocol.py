"""PROXY protocol, versions 1 and 2: the client's address, sent before its bytes."""

from __future__ import annotations

import ipaddress
import struct
from typing import NamedTuple

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
MAX_V1 = 107
MAX_V2 = 16 + 4096


class ProxyError(Exception):
    """Not a PROXY header."""


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def header(version: int, source: Address, destination: Address) -> bytes:
    """The header that announces a TCP connection from `source` to `destination`."""
    from_ip, to_ip = _same_family(source.host, destination.host)
    if version == 1:
        family = "TCP4" if from_ip.version == 4 else "TCP6"
        return f"PROXY {family} {from_ip} {to_ip} {source.port} {destination.port}\r\n".encode()
    if version != 2:
        raise ProxyError(f"PROXY protocol version {version}: 1 and 2 exist")
    body = from_ip.packed + to_ip.packed + struct.pack(">HH", source.port, destination.port)
    return SIGNATURE + struct.pack(">BBH", 0x21, 0x11 if from_ip.version == 4 else 0x21, len(body)) + body


def parse(data: bytes) -> tuple[tuple[Address, Address] | None, int] | None:
    """Read a header from the start of `data`: the two addresses (None if it announces none) and its length.

    None while it is incomplete; `ProxyError` once it can't become a header any more.
    """
    if data[:12] == SIGNATURE[: len(data)]:
        return _parse_v2(data)
    if data[:6] == b"PROXY "[: len(data)]:
        return _parse_v1(data)
    raise ProxyError("neither signature of the PROXY protocol")


def _parse_v1(data: bytes) -> tuple[tuple[Address, Address] | None, int] | None:
    end = data.find(b"\r\n", 0, MAX_V1)
    if end < 0:
        if len(data) >= MAX_V1:
            raise ProxyError(f"version 1 header without an end in {MAX_V1} bytes")
        return None
    parts = data[:end].decode("ascii", "replace").split(" ")
    if len(parts) >= 2 and parts[1] == "UNKNOWN":
        return None, end + 2
    try:
        _, family, source, destination, source_port, destination_port = parts
        ends = (_address(source, source_port), _address(destination, destination_port))
        versions = {ipaddress.ip_address(source).version, ipaddress.ip_address(destination).version}
    except ValueError as error:
        raise ProxyError("version 1 header that is malformed") from error
    if versions != {4 if family == "TCP4" else 6} or family not in ("TCP4", "TCP6"):
        raise ProxyError("version 1 header whose addresses are not of its family")
    return ends, end + 2


def _parse_v2(data: bytes) -> tuple[tuple[Address, Address] | None, int] | None:
    if len(data) < 16:
        return None
    command, family, length = struct.unpack_from(">BBH", data, 12)
    if command not in (0x20, 0x21):
        raise ProxyError(f"version 2 header with command {command:#x}")
    if 16 + length > MAX_V2:
        raise ProxyError(f"version 2 header of {length} bytes")
    if len(data) < 16 + length:
        return None
    size = {0x11: 4, 0x21: 16}.get(family)
    if command == 0x20 or size is None:
        return None, 16 + length
    if length < size * 2 + 4:
        raise ProxyError("version 2 header too short for its addresses")
    body = data[16 : 16 + length]
    ports = struct.unpack_from(">HH", body, size * 2)
    source, destination = (str(ipaddress.ip_address(body[i : i + size])) for i in (0, size))
    return (Address(source, ports[0]), Address(destination, ports[1])), 16 + length


def _address(host: str, port: str) -> Address:
    if not port.isdecimal() or not port.isascii() or int(port) > 0xFFFF or (len(port) > 1 and port[0] == "0"):
        raise ValueError(port)
    return Address(str(ipaddress.ip_address(host)), int(port))


def _same_family(
    source: str, destination: str
) -> tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, ipaddress.IPv4Address | ipaddress.IPv6Address]:
    first, second = ipaddress.ip_address(source.partition("%")[0]), ipaddress.ip_address(destination.partition("%")[0])
    if first.version == second.version:
        return first, second
    return tuple(
        ip if isinstance(ip, ipaddress.IPv6Address) else ipaddress.IPv6Address(f"::ffff:{ip}") for ip in (first, second)
    )  # type: ignore[return-value]  # two in, two out
