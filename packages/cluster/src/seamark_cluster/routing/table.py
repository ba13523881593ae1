"""Routes: from address and port of a Service to its endpoints. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from seamark_runtime.api.core import Service, ServicePort
from seamark_runtime.api.discovery import Endpoint, EndpointSlice

HEADLESS = "None"
AFFINITY_SECONDS = 10800.0


class Address(NamedTuple):
    host: str
    port: int


class Front(NamedTuple):
    """An address on which a Service listens."""

    protocol: str  # TCP or UDP
    address: Address

    def __str__(self) -> str:
        where = f"[{self.address.host}]" if ":" in self.address.host else self.address.host
        return f"{where}:{self.address.port}/{self.protocol}"


@dataclass(frozen=True)
class Route:
    """The backends, in a stable order; `affinity` is the seconds that a client stays with one (0: none)."""

    backends: tuple[Address, ...]
    affinity: float = 0.0


def routes(service: Service, slices: Iterable[EndpointSlice], node: str = "") -> dict[Front, Route]:
    """Every address of the Service with at least one backend. Headless Services have none."""
    spec = service.spec
    if spec is None or service.deleting or spec.type == "ExternalName":
        return {}
    found: dict[Front, Route] = {}
    slices = tuple(slices)
    for port in spec.ports or ():
        backends = _backends(port, slices)
        if not backends or port.protocol not in ("TCP", "UDP"):
            continue
        route = Route(backends, _affinity(service))
        hosts = [host for host in spec.cluster_ips or (spec.cluster_ip,) if host and host != HEADLESS]
        found |= {Front(port.protocol, Address(host, port.port)): route for host in hosts}
        if node and port.node_port:
            found[Front(port.protocol, Address(node, port.node_port))] = route
    return found


def _affinity(service: Service) -> float:
    spec = service.spec
    if spec is None or spec.session_affinity != "ClientIP":
        return 0.0
    config = spec.session_affinity_config
    return AFFINITY_SECONDS if config is None or config.client_ip is None else float(config.client_ip.timeout_seconds)


def _backends(port: ServicePort, slices: tuple[EndpointSlice, ...]) -> tuple[Address, ...]:
    """The ready endpoints; while there are none, those that still serve while terminating."""
    ready = _addresses(port, slices, lambda endpoint: endpoint.ready)
    return ready or _addresses(port, slices, _still_serving)


def _still_serving(endpoint: Endpoint) -> bool:
    return bool(endpoint.conditions.serving and endpoint.conditions.terminating)


def _addresses(
    port: ServicePort, slices: tuple[EndpointSlice, ...], chosen: Callable[[Endpoint], bool]
) -> tuple[Address, ...]:
    found: dict[Address, None] = {}
    for endpoint_slice in slices:
        same = [
            p.port for p in endpoint_slice.ports or () if (p.name or "") == port.name and p.protocol == port.protocol
        ]
        number = same[0] if same else None
        if number is None or endpoint_slice.address_type == "FQDN":
            continue
        for endpoint in endpoint_slice.endpoints or ():
            if endpoint.addresses and chosen(endpoint):
                found[Address(endpoint.addresses[0], number)] = (
                    None  # further addresses of an endpoint are the same endpoint
                )
    return tuple(sorted(found))
