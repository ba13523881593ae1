"""Which name servers are authoritative for a name, and where they are.

- Named servers (`dns_name_servers`) are all there are. Otherwise the server that takes the updates, and the servers in
  the zone's NS records, at port 53.
- An address comes from the zone itself, or from the system's resolver. A name server whose address can't be found is
  not asked, and of those in NS records none at an address that a tenant may not lead us to (`reach`).
- Where the zone is not known (a webhook provider serves many), the NS records of the name's closest parent are looked
  up.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import dns.asyncresolver
import dns.exception

from seamark.providers.dns.model import Content
from seamark.providers.dns.rdata import name_of
from seamark_runtime.reach import forbidden

PORT = 53
KEPT, KEPT_EMPTY = 300.0, 30.0  # seconds for which a lookup is kept, and one that found nothing
LOOKUP = 3.0  # seconds
MOST_KEPT = 10_000
MOST_SERVERS, MOST_ADDRESSES = 13, 4

Place = tuple[str, int]  # IP address or host name, and port
_Found = tuple[str, ...]


@dataclass(frozen=True)
class NameServer:
    """`label` is what it is called in messages. It is reached at any of the addresses."""

    label: str
    addresses: tuple[Place, ...]


def label_of(place: Place) -> str:
    host, port = place
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@dataclass
class Authority:
    """`named`: the servers, if they are given. `updated`: the one that takes the updates."""

    named: Sequence[Place] = ()
    updated: Place | None = None
    follow_ns: bool = True
    _kept: dict[str, tuple[float, _Found]] = field(default_factory=dict)

    async def servers(self, content: Content, name: str) -> list[NameServer]:
        if self.named:
            return await self._at(self.named)
        found = await self._at([self.updated]) if self.updated is not None else []
        if self.follow_ns:
            known = {host for server in found for host, _ in server.addresses}
            for host in await self._name_servers(content, name):
                addresses = [address for address in await self._addresses(host, content) if not forbidden(address)]
                if addresses and known.isdisjoint(addresses):
                    places = tuple((address, PORT) for address in addresses[:MOST_ADDRESSES])
                    found.append(NameServer(f"{host} ({addresses[0]})", places))
        return found[:MOST_SERVERS]

    async def _at(self, places: Sequence[Place]) -> list[NameServer]:
        found = []
        for host, port in places:
            addresses = await self._addresses(host, None)
            if addresses:
                found.append(NameServer(label_of((host, port)), tuple((address, port) for address in addresses)))
        return found

    async def _name_servers(self, content: Content, name: str) -> _Found:
        if content.zone:
            record = content.get((content.zone, "NS", ""))
            return record.targets if record is not None else await self._kept_or("NS " + content.zone, _look_up_ns)
        labels = name.removeprefix("*.").split(".")
        for start in range(len(labels) - 1):
            if found := await self._kept_or("NS " + ".".join(labels[start:]), _look_up_ns):
                return found
        return ()

    async def _addresses(self, host: str, content: Content | None) -> _Found:
        if _is_address(host):
            return (host,)
        if content is not None:
            records = [record for record in content.at(host) if record.type in ("A", "AAAA")]
            if records:
                return tuple(target for record in records for target in record.targets)
        return await self._kept_or("A " + host, _look_up_addresses)

    async def _kept_or(self, what: str, look_up: Callable[[str], Awaitable[_Found]]) -> _Found:
        now = asyncio.get_running_loop().time()
        until, found = self._kept.get(what, (0.0, ()))
        if until > now:
            return found
        try:
            async with asyncio.timeout(LOOKUP):
                found = await look_up(what.partition(" ")[2])
        except (OSError, TimeoutError, dns.exception.DNSException):
            pass  # what was found before is still asked
        while len(self._kept) >= MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[what] = (asyncio.get_running_loop().time() + (KEPT if found else KEPT_EMPTY), found)
        return found


async def _look_up_ns(name: str) -> _Found:
    answer = await dns.asyncresolver.resolve(name, "NS", lifetime=LOOKUP, search=False)
    return tuple(sorted(name_of(rdata.target) for rdata in answer))


async def _look_up_addresses(host: str) -> _Found:
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_DGRAM)
    addresses = dict.fromkeys(str(place[0]) for *_, place in found)
    return tuple(sorted(addresses, key=lambda address: ":" in address))


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
