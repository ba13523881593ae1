"""The addresses in the status of a Service, from its endpoints and its Domain."""

from __future__ import annotations

from collections.abc import Iterable

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.model.conditions import is_true
from seamark.families.loadbalancer.model.hosts import host_of
from seamark.families.loadbalancer.service.accepted import refusal
from seamark.families.loadbalancer.service.calls import fixed_address, found
from seamark.families.loadbalancer.service.exposure import FIRST, Exposure, computed
from seamark.families.loadbalancer.service.state import Seen
from seamark_edge.claims import Endpoint, refused
from seamark_edge.urls import Place
from seamark_runtime.api.core import IngressPort, LoadBalancerIngress


def ingress_of(seen: Seen, exposure: Exposure) -> tuple[LoadBalancerIngress, ...]:
    """From the computed URLs alone, and only while there are endpoints at them."""
    if fixed_address(exposure) and found(seen, exposure) is False:
        return ()
    places = computed(seen.service, exposure)
    if FIRST not in places:
        return ()
    hosts: dict[str, list[int]] = {}
    for where in places.values():
        if front(seen, where) is not None and (host := shown(seen, where)) and not is_wildcard(host):
            hosts.setdefault(host, []).append(where.port)
    return tuple(_entry(host, ports) for host, ports in hosts.items())


def front(seen: Seen, where: Place) -> object | None:
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
    """The name to show for a place; "" while it is not known."""
    if where.scheme == "tcp":
        return where.host
    domain = seen.domain
    if domain is None or host_of(domain) != where.host or not reserved(domain):
        return ""
    assert domain.status is not None
    return domain.status.cname_target or domain.status.domain


def reserved(domain: Domain) -> bool:
    """The edge has answered: only now is it known whether the name is its own, or needs a record elsewhere."""
    return is_true(domain, "DomainCreated") and domain.status is not None and bool(domain.status.id)


def _entry(host: str, ports: Iterable[int]) -> LoadBalancerIngress:
    listed = tuple(IngressPort(port=port, protocol="TCP") for port in ports)
    if host.replace(".", "").isdigit() or ":" in host:
        return LoadBalancerIngress(ip=host, ip_mode="Proxy", ports=listed)
    return LoadBalancerIngress(hostname=host, ports=listed)
