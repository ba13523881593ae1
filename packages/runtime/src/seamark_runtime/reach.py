"""Where the address of a tenant may not lead: to ourselves, to neighbours on the link, to the cloud's metadata.

- We connect to what tenants name, from a place where they are not: our loopback and the metadata service answer us.
- A name is resolved first, and only what was looked at is connected to: an answer that changes leads nowhere.
- An IPv6 address that carries an IPv4 address (mapped, NAT64, 6to4, Teredo, ISATAP) is judged by both. A resolver's
  answer that is not an address is never connected to.
- On a person's own machine the loopback is where things are.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from functools import cache
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from pathlib import Path

from seamark_runtime.resolver import Resolver, found_by_system
from seamark_runtime.untrusted.dnsnames import InvalidDnsName, folded

METADATA = frozenset(("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"))
THIS_NETWORK = IPv4Network("0.0.0.0/8")  # connecting there reaches this host
BROADCAST = IPv4Address("255.255.255.255")
LAST_FOUR = (  # prefixes whose addresses end in an IPv4 address
    IPv6Network("::/96"),  # IPv4-compatible
    IPv6Network("::ffff:0:0/96"),  # IPv4-mapped
    IPv6Network("::ffff:0:0:0/96"),  # IPv4-translated (RFC 2765)
    IPv6Network("64:ff9b::/96"),  # NAT64
)
MACHINE = IPv4Network("127.0.0.0/16")  # of the loopback: what is no cluster's; those of this program have 127.96 and up
LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")  # NAT64 of a network's own (RFC 8215)
HOSTS = Path("/etc/hosts")

Address = IPv4Address | IPv6Address


def loopback_counts() -> bool:
    """Whether the loopback is where services are: outside of Pods, and in a cluster that is itself on the loopback."""
    inside = os.environ.get("KUBERNETES_SERVICE_HOST", "")
    return not inside or inside.startswith("127.")


class Forbidden(OSError):
    """Nothing is sent there. The message is for the user who named the host."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.strerror = message


def forbidden(host: str) -> str:
    """Why connections to this host are forbidden; empty if they are allowed, and for a name (see `allowed`)."""
    try:
        name = folded(host)
    except InvalidDnsName:
        return "no host"
    if name == "localhost" or name.endswith(".localhost"):
        name = "127.0.0.1"
    found = parsed(name)
    return "" if found is None else _forbidden(found)


def parsed(text: str) -> Address | None:
    """The address that a text stands for, as the system would read it (`0x7f.1`, `2130706433`); None for a name."""
    try:
        return ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(text))
    except (OSError, UnicodeError, ValueError, AddressValueError):
        return None


def _forbidden(address: Address) -> str:
    for each in (address, *_carried(address)):
        if each.is_link_local or str(each) in METADATA:
            return "a link-local or metadata address"
        if each.is_unspecified or each.is_multicast or each == BROADCAST or each in THIS_NETWORK:
            return "no address of a service"
        if not loopback_counts() and (each.is_loopback or each in own_addresses()):
            return "no address of a service"
    return ""


def _carried(address: Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses that an IPv6 address stands for."""
    if not isinstance(address, IPv6Address):
        return
    raw = address.packed
    if any(address in network for network in LAST_FOUR) and address not in (IPv6Address("::"), IPv6Address("::1")):
        yield IPv4Address(raw[12:])
    if address in LOCAL_NAT64:
        yield from (carried for carried in _translated(raw) if carried not in THIS_NETWORK)  # zeros are padding here
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if raw[8:12] in (b"\0\0\x5e\xfe", b"\x02\0\x5e\xfe"):  # ISATAP
        yield IPv4Address(raw[12:])


def _translated(raw: bytes) -> Iterator[IPv4Address]:
    """By RFC 6052, for prefixes of 48, 56, 64 and 96 bits: the ninth byte is left out, what is behind is zero."""
    yield IPv4Address(raw[12:])
    without = raw[:8] + raw[9:]
    yield from (IPv4Address(without[at : at + 4]) for at in (6, 7, 8) if not any((raw[8], *without[at + 4 :])))


@cache
def own_addresses() -> frozenset[Address]:
    """Those of this Pod: the kubelet writes them into its hosts file, under its host name."""
    try:
        lines = HOSTS.read_text(errors="replace").splitlines()
    except OSError:
        return frozenset()
    entries = [line.partition("#")[0].split() for line in lines]
    found = [parsed(entry[0]) for entry in entries if socket.gethostname() in entry[1:]]
    return frozenset(address for address in found if address is not None)


async def allowed(host: str, port: int, resolver: Resolver | None = None) -> list[str]:
    """The addresses of a host, in order, without those that are forbidden. `Forbidden` if that leaves none."""
    found = list(await resolver.lookup(host)) if resolver is not None else await found_by_system(host, port)
    good = [address for address in found if parsed(address) is not None and not forbidden(address)]
    if found and not good:
        raise Forbidden(f"{host[:100]} leads to {forbidden(found[0]) or 'no address'}")
    return good


def on_machine(text: str) -> bool:
    """Whether this is an address of a person's own machine, in any spelling, where the loopback is such a machine."""
    found = parsed(text)
    if found is None or not loopback_counts():
        return False
    return all(address in MACHINE or address == IPv6Address("::1") for address in tuple(_carried(found)) or (found,))


def private(text: str) -> bool:
    """Whether an address, in any spelling, is one of a private network: its owner can't be known. False for a name."""
    found = parsed(text)
    return found is not None and not all(address.is_global for address in (found, *_carried(found)))
