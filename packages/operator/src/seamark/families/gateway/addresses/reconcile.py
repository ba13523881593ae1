"""Which address a gateway has: of the ranges that are local here, one for each, and always the same one. Pure.

- An address belongs to one gateway. Of several that request it, the current holder keeps it; otherwise the oldest
  gets it, and of equal age the first by namespace and name. The others have a condition about it, and are not served.
- A namespace has a share of the addresses. What its gateways hold stays theirs and counts; a gateway that would exceed
  the share is assigned no address, and claims none.
- Addresses are compared as numbers: other spellings of an address are the same address.
- A gateway holds the addresses of its status, and those that were assigned to it last: with a Service before it, its
  status has the Service's address instead.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from seamark.families.gateway.addresses.state import AddressRequest, Assignments, Pool, Seen
from seamark.families.gateway.model.addresses import NOT_ASSIGNED, AddressAssignment
from seamark_runtime.api.gateway import Gateway
from seamark_runtime.apply import Answers

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def report(seen: Seen, _answers: Answers) -> Assignments:
    return seen.assignments


def address_request(gateway: Gateway, last: AddressAssignment = NOT_ASSIGNED) -> AddressRequest:
    """`last`: what was assigned to it before."""
    claims = gateway.spec.addresses or ()
    named = tuple(claim.value for claim in claims if claim.type == "IPAddress" and claim.value)
    dynamic = sum(not claim.value for claim in claims) or (0 if named else 1)
    published = (gateway.status.addresses if gateway.status is not None else None) or ()
    held = (*(address.value for address in published if address.type == "IPAddress"), *last.addresses)
    return AddressRequest(gateway.key, named, dynamic, held)


def assign(pool: Pool) -> Assignments:
    """Holders keep their address; a named one is assigned; the others get what is free, in order."""
    networks = [ipaddress.ip_network(text) for text in pool.ranges]
    candidates = [_Candidate(request, networks) for request in pool.requests]
    owners: dict[IPAddress, _Candidate] = {}
    for candidate in candidates:
        for address in candidate.holds:
            owners.setdefault(address, candidate)
    counts = Counter(candidate.namespace for candidate in owners.values())
    for candidate in candidates:
        wanted = candidate.wanted(owners)
        if wanted and pool.share and counts[candidate.namespace] + wanted > pool.share:
            candidate.beyond = pool.share
            continue
        counts[candidate.namespace] += wanted
        for address in candidate.named:
            owners.setdefault(address, candidate)
    free = (host for network in networks for host in network.hosts() if host not in owners)
    return {candidate.request.gateway: candidate.assignment(owners, free, pool.ranges) for candidate in candidates}


class _Candidate:
    """A request with its addresses as numbers, those of them that are local here."""

    def __init__(self, request: AddressRequest, networks: list[Network]) -> None:
        self.request = request
        named = {text: parse(text, networks) for text in request.named}
        self.unusable = [text for text, address in named.items() if address is None]
        self.named = () if self.unusable else unique(named.values())
        held = unique(parse(text, networks) for text in request.held)
        self._kept = tuple(address for address in held if address not in self.named)[: request.dynamic]
        self.holds = (*(address for address in self.named if address in held), *self._kept)
        self.beyond = 0  # the share of its namespace, where it would exceed that

    @property
    def namespace(self) -> str:
        return self.request.gateway.namespace

    def wanted(self, owners: Mapping[IPAddress, _Candidate]) -> int:
        """How many addresses it needs beside those that it holds; none where it can't be served anyway."""
        if self.unusable or any(owners.get(address, self) is not self for address in self.named):
            return 0
        kept = sum(owners[address] is self for address in self._kept)
        return sum(address not in owners for address in self.named) + self.request.dynamic - kept

    def assignment(
        self, owners: Mapping[IPAddress, _Candidate], free: Iterator[IPAddress], ranges: tuple[str, ...]
    ) -> AddressAssignment:
        if self.unusable:
            message = f"The address {', '.join(self.unusable)} can't be used here; there are {', '.join(ranges)}"
            return AddressAssignment(problem=("AddressNotUsable", message))
        if self.beyond:
            message = f"The Gateways of this namespace may have {self.beyond} addresses, and this one would exceed that"
            return AddressAssignment(problem=("AddressNotAssigned", message))
        if taken := [str(address) for address in self.named if owners[address] is not self]:
            message = f"The address {', '.join(taken)} is used by another Gateway; name another one, or none"
            return AddressAssignment(problem=("AddressNotUsable", message))
        kept = [address for address in self._kept if owners[address] is self]
        new = list(islice(free, self.request.dynamic - len(kept)))
        if len(kept) + len(new) < self.request.dynamic:
            return AddressAssignment(problem=("AddressNotAssigned", f"No address is left in {', '.join(ranges)}"))
        return AddressAssignment(tuple(map(str, (*self.named, *kept, *new))))


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
