"""How a Service is to be exposed, from its spec and annotations. What can't be read is a mistake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from seamark.families.loadbalancer.model.names import COMPUTED_URL, COMPUTED_URLS, annotation
from seamark.families.loadbalancer.model.policies import bad_ranges
from seamark_edge.urls import BadUrl, Place, place
from seamark_runtime.api.core import Service, ServicePort, ServiceSpec

STRATEGIES = ("endpoints", "endpoints-verbose")
BINDINGS = ("public", "internal", "kubernetes")
TRUE, FALSE = ("true", "1", "yes"), ("", "false", "0", "no")

MOST_RANGES = 1000
MOST_PORTS = 1000  # of one Service: each has an endpoint of its own. Kubernetes has no limit.
MOST_SHOWN = 10  # ports in a message

Binding = Literal["public", "internal", "kubernetes"]


FIRST = ""  # the purpose of the port that had the first address of the Service; that of every other is its number


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong with a Service: the reason of its condition, and the message."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Exposure:
    """`place` is where it is to be reached; without a host, the edge chooses an address for each of `ports`."""

    place: Place
    ports: tuple[ServicePort, ...]  # those that get endpoints
    left_out: tuple[ServicePort, ...] = ()  # TCP ports that a fixed address can't have
    foreign: tuple[ServicePort, ...] = ()  # ports of protocols that no edge carries
    first: int | None = None  # the port whose purpose is FIRST; None where it is gone
    verbose: bool = False
    policy: str = ""
    ranges: tuple[str, ...] = ()
    pooling: bool = False
    bindings: tuple[Binding, ...] = ()
    metadata: str = ""
    description: str = ""

    @property
    def chosen(self) -> bool:
        """The edge chooses the address."""
        return not self.place.fixed

    @property
    def by_purpose(self) -> dict[str, ServicePort]:
        """The ports, by what their addresses are known by."""
        return {FIRST if port.port == self.first else str(port.port): port for port in self.ports}

    @property
    def purposes(self) -> tuple[str, ...]:
        """What addresses are reserved for."""
        return tuple(self.by_purpose) if self.chosen else ()

    @property
    def lacks(self) -> Mistake | None:
        """What keeps a part of the Service, or all of it, from being reached."""
        if not self.ports and not self.foreign:
            return Mistake("NoPorts", "The Service has no ports, so there is nothing to reach")
        if self.foreign:
            shown = _listed([f"{port.port}/{port.protocol}" for port in self.foreign])
            return Mistake("UnsupportedProtocol", f"The edge carries TCP alone: {shown} can't be reached")
        if self.left_out:
            ports = _listed([str(port.port) for port in self.left_out])
            return Mistake("PortsLeftOut", f"{self.place} is one address, for the first port: {ports} can't be reached")
        return None


def _listed(ports: list[str]) -> str:
    more = len(ports) - MOST_SHOWN
    return ", ".join(ports[:MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")


def exposure_of(service: Service, served: int | None = None) -> Exposure | Mistake:
    """`served`: the port that its first endpoint leads to; None where there is no such endpoint."""
    spec = service.spec
    assert spec is not None
    verbose = annotation(service, "mapping-strategy") or STRATEGIES[0]
    if verbose not in STRATEGIES:
        message = f"mapping-strategy is {verbose[:100]!r}: {' and '.join(STRATEGIES)} are known"
        return Mistake("InvalidMappingStrategy", message)
    where = wanted_place(service)
    if isinstance(where, Mistake):
        return where
    carried = tuple(port for port in spec.ports or () if port.protocol == "TCP")
    foreign = tuple(port for port in spec.ports or () if port.protocol != "TCP")
    if where.fixed:  # the port that has the address keeps it, wherever it is in the list
        carried = tuple(sorted(carried, key=lambda port: port.port != served))
    pooling = annotation(service, "pooling-enabled").lower()
    if pooling not in (*TRUE, *FALSE):
        return Mistake("InvalidAnnotation", f"pooling-enabled is {pooling[:100]!r}: true and false are known")
    bindings = _bindings(annotation(service, "bindings"))
    if isinstance(bindings, Mistake):
        return bindings
    if wrong := _wrong_lists(spec):
        return wrong
    return Exposure(
        place=where,
        ports=carried[:1] if where.fixed else carried,
        left_out=carried[1:] if where.fixed else (),
        foreign=foreign,
        first=next((port.port for port in carried), None) if where.fixed else first_port(service, carried, served),
        verbose=verbose == STRATEGIES[1],
        policy=annotation(service, "traffic-policy"),
        ranges=tuple(text.strip() for text in spec.load_balancer_source_ranges or ()),
        pooling=pooling in TRUE,
        bindings=bindings,
        metadata=annotation(service, "metadata"),
        description=annotation(service, "description")[:255],
    )


def first_port(service: Service, ports: tuple[ServicePort, ...], served: int | None) -> int | None:
    """The port that has the first address: always the one that had it, wherever it is in the list.

    If it is gone, no other port gets its address, but for the only port of a Service that had no other before. Nor does
    one where it is not known which of several has had it.
    """
    url, others = service.annotation(COMPUTED_URL), other_texts(service)
    if url in others.values():  # no port has it any more
        return None
    numbers = [port.port for port in ports]
    if served in numbers:
        return served
    if served is not None and (others or len(numbers) != 1):
        return None
    possible = [number for number in numbers if str(number) not in others]
    return possible[0] if len(possible) == 1 or (possible and not url) else None


def _wrong_lists(spec: ServiceSpec) -> Mistake | None:
    if (count := len(spec.ports or ())) > MOST_PORTS:
        message = f"spec.ports has {count} entries; at most {MOST_PORTS} are allowed: use several Services"
        return Mistake("TooManyPorts", message)
    if wrong := _wrong_ranges(spec.load_balancer_source_ranges or ()):
        return Mistake("InvalidSourceRanges", f"loadBalancerSourceRanges has {wrong}")
    return None


def _wrong_ranges(ranges: tuple[str, ...]) -> str:
    if len(ranges) > MOST_RANGES:
        return f"{len(ranges)} entries; at most {MOST_RANGES} are allowed"
    bad = bad_ranges(ranges)
    return f"{bad[0][:100]!r}, which is no CIDR" if bad else ""


def wanted_place(service: Service) -> Place | Mistake:
    """The URL annotation, or the older one with a domain alone; without either, any TCP address."""
    text = annotation(service, "url")
    domain = annotation(service, "domain")
    if not text and domain:
        text = domain if domain.startswith("tls://") else f"tls://{domain}"
    if not text:
        return Place("tcp", "", 0)
    try:
        found = place(text if "://" in text else f"tcp://{text}")
    except BadUrl as bad:
        return Mistake("InvalidURL", f"url: {bad}")
    if found.scheme not in ("tcp", "tls"):
        return Mistake("UnsupportedScheme", f"url: {found.scheme}:// is for no load balancer: tcp:// and tls:// are")
    if found.scheme == "tls" and not found.fixed:
        return Mistake("InvalidURL", "url: tls:// needs a host")
    if found.scheme == "tls" and found.numeric:
        return Mistake("InvalidURL", f"url: tls:// needs a host name, and {found.host} is an address: use tcp://")
    return found


def _bindings(text: str) -> tuple[Binding, ...] | Mistake:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    found: Any = tuple(part for part in parts if part in BINDINGS)
    if len(found) != len(parts) or len(parts) > 1:
        return Mistake("InvalidAnnotation", f"bindings is {text[:100]!r}: one of {', '.join(BINDINGS)} is known")
    bindings: tuple[Binding, ...] = found
    return bindings


# ---- what was computed before


def computed(service: Service, wanted: Exposure) -> dict[str, Place]:
    """By purpose: where each port is reached, from the annotations."""
    found = {purpose: where for purpose, text in texts(service).items() if (where := readable(text)) is not None}
    return {
        purpose: found[purpose] for purpose in wanted.by_purpose if purpose in found and fits(found[purpose], wanted)
    }


def fits(where: Place, wanted: Exposure) -> bool:
    return where.scheme == wanted.place.scheme and (wanted.chosen or where == wanted.place)


def texts(service: Service) -> dict[str, str]:
    """By purpose. What is under the name of the first port can be the URL of another: then no port has FIRST."""
    first, others = service.annotation(COMPUTED_URL), other_texts(service)
    return others if first in others.values() else {FIRST: first, **others}


def other_texts(service: Service) -> dict[str, str]:
    pairs = (entry.partition("=") for entry in _computed(service) if "=" in entry)
    return {port: url for port, _, url in pairs}


def _computed(service: Service) -> list[str]:
    """The entries of our annotation; not more than there can be, since its value may be any text."""
    return service.annotation(COMPUTED_URLS).split(",", MOST_PORTS)[:MOST_PORTS]


def readable(text: str) -> Place | None:
    """What can't be read counts as missing: the annotation is corrected."""
    try:
        found = place(text) if text else None
    except BadUrl:
        return None
    return found if found is not None and found.fixed else None


def annotations_for(places: dict[str, Place], wanted: Exposure) -> dict[str, str]:
    """The first port's URL under its own name; in one line those of all ports that are known by their numbers."""
    others = ",".join(f"{purpose}={where}" for purpose, where in places.items() if purpose != FIRST)
    known = (FIRST, *wanted.by_purpose)
    first = next(({COMPUTED_URL: str(places[purpose])} for purpose in known if purpose in places), {})
    return first | ({COMPUTED_URLS: others} if others else {})


def held(service: Service) -> tuple[str, ...]:
    """The places that this Service has."""
    return tuple(where.key for text in texts(service).values() if (where := readable(text)) is not None)


def claims(service: Service) -> tuple[str, ...]:
    """The places that this Service has, or asks for by name."""
    found = wanted_place(service)
    named = (found.key,) if isinstance(found, Place) and found.fixed else ()
    return tuple(dict.fromkeys((*named, *held(service))))
