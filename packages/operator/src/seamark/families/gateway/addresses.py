"""Which address a gateway has: of the ranges that are local here, one for each, and always the same one.

- An address belongs to one gateway. Of several that request it, the current holder keeps it; otherwise the oldest
  gets it, and of equal age the first by namespace and name. The others have a condition about it, and are not served.
- Addresses are compared as numbers: other spellings of an address are the same address.
- A gateway has the addresses of its status, and those that it got last: with a Service before it, its status has the
  Service's address instead.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from seamark_runtime.api.gateway import Gateway, GatewayClass
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Index
from seamark_runtime.source import Collection
from seamark_runtime.view import View

BY_CLASS = Index(Gateway, lambda one: (one.spec.gateway_class_name,), "gateways by class")
BY_CONTROLLER = Index(GatewayClass, lambda one: (one.spec.controller_name,), "classes by controller")
POOL = Key("", "addresses")
IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Lot:
    """What a gateway got: addresses, or the reason why it has none."""

    addresses: tuple[str, ...] = ()
    trouble: tuple[str, str] | None = None
    bind: tuple[str, ...] = ()  # where its Envoys listen, if not at those
    unreached: str = ""  # why no traffic reaches these addresses: the error of their provider
    not_started: str = ""  # why its Envoys can't start


@dataclass(frozen=True, slots=True)
class Wish:
    """A gateway that needs addresses: those it names, and the one it has already."""

    key: Key
    static: tuple[str, ...]
    dynamic: int
    held: tuple[str, ...]


@dataclass(frozen=True)
class Pool:
    """All that want addresses, the oldest first, and the ranges that there are."""

    ranges: tuple[str, ...]
    wishes: tuple[Wish, ...]


def observe(view: View, ranges: tuple[str, ...], controller_name: str, bounds: Collection[Lot]) -> Pool:
    gateways = [
        gateway
        for its_class in view.by(BY_CONTROLLER, controller_name)
        for gateway in view.by(BY_CLASS, its_class.metadata.name)
        if not gateway.deleting
    ]
    gateways.sort(key=lambda one: (one.metadata.creation_timestamp or "", one.key))
    return Pool(ranges, tuple(wish(gateway, *bounds.about(gateway.key).values()) for gateway in gateways))


def wish(gateway: Gateway, last: Lot = Lot()) -> Wish:  # noqa: B008  it is frozen
    claims = gateway.spec.addresses or ()
    static = tuple(claim.value for claim in claims if claim.type == "IPAddress" and claim.value)
    dynamic = sum(not claim.value for claim in claims) or (0 if static else 1)
    standing = (gateway.status.addresses if gateway.status is not None else None) or ()
    held = (*(one.value for one in standing if one.type == "IPAddress"), *last.addresses)
    return Wish(gateway.key, static, dynamic, held)


def assign(pool: Pool) -> Mapping[Hashable, Lot]:
    """Holders keep their address; a requested one is assigned; the others get what is free, in order."""
    networks = [ipaddress.ip_network(text) for text in pool.ranges]
    wants = [Wants(one, networks) for one in pool.wishes]
    owners: dict[IPAddress, Wants] = {}
    for one in wants:
        for address in one.has:
            owners.setdefault(address, one)
    for one in wants:
        for address in one.named:
            owners.setdefault(address, one)
    free = (host for network in networks for host in network.hosts() if host not in owners)
    return {one.wish.key: one.lot(owners, free, pool.ranges) for one in wants}


class Wants:
    """A wish with its addresses as numbers, those of them that are local here."""

    def __init__(self, wish: Wish, networks: list[Network]) -> None:
        self.wish = wish
        named = {text: parse(text, networks) for text in wish.static}
        self.unusable = [text for text, address in named.items() if address is None]
        self.named = () if self.unusable else unique(named.values())
        held = unique(parse(text, networks) for text in wish.held)
        self._kept = tuple(address for address in held if address not in self.named)[: wish.dynamic]
        self.has = (*(address for address in self.named if address in held), *self._kept)

    def lot(self, owners: Mapping[IPAddress, Wants], free: Iterator[IPAddress], ranges: tuple[str, ...]) -> Lot:
        if self.unusable:
            words = f"The address {', '.join(self.unusable)} can't be used here; there are {', '.join(ranges)}"
            return Lot(trouble=("AddressNotUsable", words))
        if taken := [str(address) for address in self.named if owners[address] is not self]:
            words = f"The address {', '.join(taken)} is used by another Gateway; name another one, or none"
            return Lot(trouble=("AddressNotUsable", words))
        kept = [address for address in self._kept if owners[address] is self]
        new = list(islice(free, self.wish.dynamic - len(kept)))
        if len(kept) + len(new) < self.wish.dynamic:
            return Lot(trouble=("AddressNotAssigned", f"No address is left in {', '.join(ranges)}"))
        return Lot(tuple(map(str, (*self.named, *kept, *new))))


def unique(addresses: Iterable[IPAddress | None]) -> tuple[IPAddress, ...]:
    return tuple(dict.fromkeys(address for address in addresses if address is not None))


def parse(text: str, networks: Iterable[Network]) -> IPAddress | None:
    """The address that a text spells; None if it is none, or none of these networks'."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id:
            return None
        address = address.ipv4_mapped or address
    return address if any(address in network for network in networks) else None
