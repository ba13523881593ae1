"""Where the address of a tenant may not lead: to ourselves, to neighbours on the link, to the cloud's metadata.

- We connect to what tenants name, from a place where they are not: our loopback and the metadata service answer us.
- A name is resolved first, and only what was looked at is connected to: an answer that changes leads nowhere.
- On a person's own machine the loopback is where things are.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket

from seamark.core.resolver import Resolver

METADATA = frozenset(("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"))


def loopback_counts() -> bool:
    """Whether the loopback is where services are: outside of Pods, and in a cluster that is itself on the loopback."""
    inside = os.environ.get("KUBERNETES_SERVICE_HOST", "")
    return not inside or inside.startswith("127.")


class Forbidden(OSError):
    """Nothing is sent there. The words are for whoever named the place."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.strerror = message


def forbidden(address: str) -> str:
    """Why nobody may be sent to this address; empty for one that is as good as any."""
    name = address.lower().rstrip(".")
    try:
        found = ipaddress.ip_address("127.0.0.1" if name.endswith("localhost") else name.partition("%")[0])
    except ValueError:
        return ""
    found = getattr(found, "ipv4_mapped", None) or found
    if found.is_link_local or str(found) in METADATA:
        return "a link-local or metadata address"
    if found.is_unspecified or found.is_multicast or (found.is_loopback and not loopback_counts()):
        return "no address of a service"
    return ""


async def allowed(host: str, port: int, resolver: Resolver | None = None) -> list[str]:
    """The addresses of a host, in order, without those that are forbidden. `Forbidden` if that leaves none."""
    found = list(await resolver.lookup(host)) if resolver is not None else await _found(host, port)
    good = [address for address in found if not forbidden(address)]
    if found and not good:
        raise Forbidden(f"{host} leads to {forbidden(found[0])}")
    return good


async def _found(host: str, port: int) -> list[str]:
    try:
        infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError(f"{host[:100]!r} is no host") from error
    return list(dict.fromkeys(str(info[4][0]) for info in infos))
