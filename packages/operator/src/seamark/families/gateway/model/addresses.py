"""The addresses of gateways: what is assigned to each, and what a Service in front of one reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seamark.api.gatewayinfra import FrontService
from seamark.gatewayapi.listeners import FOREIGN_PORTS, GatewayPorts
from seamark_runtime.conditions import FALSE

ASSIGNED = "k8s.ngrok.com/AddressAssigned"  # on a Service of that class: whether traffic reaches its address


@dataclass(frozen=True, slots=True)
class AddressAssignment:
    """The addresses of a gateway, or the reason why it has none."""

    addresses: tuple[str, ...] = ()
    problem: tuple[str, str] | None = None  # reason and message
    bind: tuple[str, ...] = ()  # the addresses at which its Envoys listen, if not these
    unreached: str = ""  # why no traffic reaches these addresses: the error of their provider
    not_started: str = ""  # why its Envoys can't start
    mapped: tuple[tuple[int, str], ...] = ()  # ports that clients reach at another one: the port, and host:port

    def elsewhere(self, *ports: int) -> str:
        """Where clients reach those of these ports that the load balancer has under other numbers; to be appended."""
        found = [f"port {port} is reached at {place}" for port, place in self.mapped if port in ports]
        return "; ".join(("", *found))


NOT_ASSIGNED = AddressAssignment()


def service_addresses(service: FrontService | None) -> tuple[str, ...]:
    if service is None:
        return ()
    if service.spec.type != "LoadBalancer":
        return (service.spec.cluster_ip,) if service.spec.cluster_ip not in ("", "None") else ()
    ingress = (service.status.load_balancer.ingress if service.status is not None else None) or ()
    return tuple(entry.ip or entry.hostname for entry in ingress)


def mapped_ports(service: FrontService | None) -> tuple[tuple[int, str], ...]:
    """A load balancer that gives its ports other numbers has all of them in its status, in the order of the ports."""
    if service is None or service.spec.type != "LoadBalancer" or service.status is None:
        return ()
    inside = [port.port for port in service.spec.ports or ()]
    outside = [
        (entry.ip or entry.hostname, outer.port)
        for entry in service.status.load_balancer.ingress or ()
        for outer in entry.ports or ()
    ]
    if len(inside) != len(outside):
        return ()
    pairs = zip(inside, outside, strict=True)
    return tuple((port, f"{host}:{number}") for port, (host, number) in pairs if number != port)


def service_unreached(service: FrontService | None) -> str:
    """The error of the Service's address provider, if it reports that no traffic reaches it."""
    if service is None or service.status is None:
        return ""
    assigned = next((each for each in service.status.conditions or () if each.type == ASSIGNED), None)
    if assigned is None or assigned.status != FALSE:
        return ""
    return f"Its Service {service.metadata.name}: {assigned.message}"


def with_foreign_ports(annotations: Mapping[str, str] | None, ports: GatewayPorts) -> dict[str, str] | None:
    """The annotations of a Service before a gateway: they tell which of its ports are not the gateway's own."""
    others = {name: value for name, value in (annotations or {}).items() if name != FOREIGN_PORTS}
    foreign = {FOREIGN_PORTS: ",".join(map(str, ports.foreign))} if ports.foreign else {}
    return {**others, **foreign} or None
