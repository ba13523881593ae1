"""The addresses of gateways: what is assigned to each, and what a Service in front of one reports."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.gatewayinfra import FrontService
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


NOT_ASSIGNED = AddressAssignment()


def service_addresses(service: FrontService | None) -> tuple[str, ...]:
    if service is None:
        return ()
    if service.spec.type != "LoadBalancer":
        return (service.spec.cluster_ip,) if service.spec.cluster_ip not in ("", "None") else ()
    ingress = (service.status.load_balancer.ingress if service.status is not None else None) or ()
    return tuple(entry.ip or entry.hostname for entry in ingress)


def service_unreached(service: FrontService | None) -> str:
    """The error of the Service's address provider, if it reports that no traffic reaches it."""
    if service is None or service.status is None:
        return ""
    assigned = next((each for each in service.status.conditions or () if each.type == ASSIGNED), None)
    if assigned is None or assigned.status != FALSE:
        return ""
    return f"Its Service {service.metadata.name}: {assigned.message}"
