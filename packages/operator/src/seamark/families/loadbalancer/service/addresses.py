"""The addresses in the status of a Service, from its endpoints and its Domain."""

from __future__ import annotations

from collections.abc import Iterable

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.model.conditions import condition_of
from seamark.families.loadbalancer.model.hosts import host_of
from seamark.families.loadbalancer.service.accepted import refusal
from seamark.families.loadbalancer.service.calls import fixed_address, found
from seamark.families.loadbalancer.service.exposure import Exposure, computed
from seamark.families.loadbalancer.service.state import Seen
from seamark_edge.claims import Endpoint, refused
from seamark_edge.urls import Place, readable
from seamark_runtime.api.core import IngressPort, LoadBalancerIngress, Service


def ingress_of(seen: Seen, exposure: Exposure) -> tuple[LoadBalancerIngress, ...]:
    """From the computed URLs alone, and only while there are endpoints at them."""
    if fixed_address(exposure) and found(seen, exposure) is False:
        return ()
    places = computed(seen.service, exposure)
    if next(iter(exposure.by_purpose), None) not in places:
        return ()
    hosts: dict[str, list[int]] = {}
    for where in places.values():
        endpoint = front(seen, where)
        if endpoint is not None and (host := shown(seen, where)) and not is_wildcard(host):
            hosts.setdefault(host, []).append(listening_port(endpoint, where))
    return tuple(_entry(host, ports) for host, ports in hosts.items())


def listening_port(endpoint: Endpoint, where: Place) -> int:
    """Where the edge listens for TLS: on one port for all domains, which need not be the one that the URL names."""
    assigned = readable(endpoint.status.assigned_url) if endpoint.status is not None else None
    if where.scheme == "tcp" or assigned is None or assigned.key != where.key:
        return where.port
    return assigned.port


def front(seen: Seen, where: Place) -> Endpoint | None:
    """The endpoint that clients reach at this place: of either kind, while the strategy changes.

    An endpoint that is refused, and was not there before, can't be reached.
    """
    there = (child for child in seen.endpoints if child.spec.url == str(where))
    return next((child for child in there if not turned_away(child)), None)


def turned_away(child: Endpoint) -> bool:
    """Whether an endpoint is refused and no client reaches it, not even as it was before."""
    if refused(child):
        return True
    created = refusal(child)
    standing = child.status.assigned_url if child.status is not None else ""
    return created is not None and (created.reason == "ConfigurationError" or not standing)


def is_wildcard(host: str) -> bool:
    """The API server takes no wildcard as a hostname in a status."""
    return host.startswith("*.")


def shown(seen: Seen, where: Place) -> str:
    """The name to show for a place; "" while it is not known.

    What was published for the same host stays while the edge does not say whether the name is its own.
    """
    if where.scheme == "tcp" or where.internal:
        return where.host
    domain = seen.domain
    if domain is None or host_of(domain) != where.host or domain.status is None or not reserved(domain):
        return ""
    if domain.status.cname_target:
        return domain.status.cname_target
    return domain.status.domain if own(domain) else published_host(seen)


def reserved(domain: Domain) -> bool:
    """The edge has it, or had it when it was last asked: that it does not answer removes no address."""
    created = condition_of(domain, "DomainCreated")
    refused_now = created is not None and created.status == "False"
    return domain.status is not None and bool(domain.status.id) and not refused_now


def own(domain: Domain) -> bool:
    """The edge has answered that the name is below its own domain. That no CNAME target is there is no such answer."""
    dns = condition_of(domain, "DNSConfigured")
    return dns is not None and (dns.status, dns.reason) == ("True", "NgrokManaged")


def published_host(seen: Seen) -> str:
    """The one host name in the status; "" without one."""
    hosts = [entry.hostname for entry in published(seen.service) if entry.hostname]
    return hosts[0] if len(hosts) == 1 else ""


def published(service: Service) -> tuple[LoadBalancerIngress, ...]:
    status = service.status
    return (status.load_balancer.ingress or ()) if status is not None else ()


def _entry(host: str, ports: Iterable[int]) -> LoadBalancerIngress:
    listed = tuple(IngressPort(port=port, protocol="TCP") for port in ports)
    if host.replace(".", "").isdigit() or ":" in host:
        return LoadBalancerIngress(ip=host, ip_mode="Proxy", ports=listed)
    return LoadBalancerIngress(hostname=host, ports=listed)
