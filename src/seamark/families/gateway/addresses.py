"""Which address a gateway has: of the ranges that are local here, one for each, and the same one for ever."""

from __future__ import annotations

import ipaddress
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from seamark.api.gateway import Gateway, GatewayClass
from seamark.api.meta import Key
from seamark.core.cache import Index
from seamark.core.view import View

BY_CLASS = Index(Gateway, lambda one: (one.spec.gateway_class_name,), "gateways by class")
BY_CONTROLLER = Index(GatewayClass, lambda one: (one.spec.controller_name,), "classes by controller")
POOL = Key("", "addresses")


@dataclass(frozen=True, slots=True)
class Lot:
    """What a gateway got: addresses, or the reason why it has none."""

    addresses: tuple[str, ...] = ()
    trouble: tuple[str, str] | None = None
    bind: tuple[str, ...] = ()  # where its Envoys listen, if not at those
    unreached: str = ""  # why nobody is brought to these addresses, in the words of whoever gave them


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


def observe(view: View, ranges: tuple[str, ...], controller_name: str) -> Pool:
    gateways = [
        gateway
        for its_class in view.by(BY_CONTROLLER, controller_name)
        for gateway in view.by(BY_CLASS, its_class.metadata.name)
        if not gateway.deleting
    ]
    gateways.sort(key=lambda one: (one.metadata.creation_timestamp or "", one.key))
    return Pool(ranges, tuple(wish(gateway) for gateway in gateways))


def wish(gateway: Gateway) -> Wish:
    claims = gateway.spec.addresses or ()
    static = tuple(claim.value for claim in claims if claim.type == "IPAddress" and claim.value)
    dynamic = sum(not claim.value for claim in claims) or (0 if static else 1)
    standing = (gateway.status.addresses if gateway.status is not None else None) or ()
    held = tuple(one.value for one in standing if one.type == "IPAddress" and one.value not in static)
    return Wish(gateway.key, static, dynamic, held)


def assign(pool: Pool) -> Mapping[Hashable, Lot]:
    """Who has an address keeps it; who names one gets it; the others get what is free, in order."""
    networks = [ipaddress.ip_network(text) for text in pool.ranges]
    taken = {address for one in pool.wishes for address in (*one.static, *one.held[: one.dynamic])}
    free = (str(host) for network in networks for host in network.hosts() if str(host) not in taken)
    lots: dict[Hashable, Lot] = {}
    given: set[str] = set()
    for one in pool.wishes:
        unusable = [address for address in one.static if not local(address, networks)]
        if unusable:
            words = f"The address {', '.join(unusable)} can't be used here; there are {', '.join(pool.ranges)}"
            lots[one.key] = Lot(trouble=("AddressNotUsable", words))
            continue
        kept = [address for address in one.held if local(address, networks) and address not in given][: one.dynamic]
        missing = one.dynamic - len(kept)
        new = [address for _, address in zip(range(missing), free, strict=False)]
        given.update((*kept, *new))
        if len(new) < missing:
            lots[one.key] = Lot(trouble=("AddressNotAssigned", f"No address is left in {', '.join(pool.ranges)}"))
        else:
            lots[one.key] = Lot((*one.static, *kept, *new))
    return lots


def local(address: str, networks: Iterable[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(parsed in network for network in networks)
