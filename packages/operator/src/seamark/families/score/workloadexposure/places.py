"""Every way into a Workload that stands in the cluster, as an entry: routes, Ingresses, load balancers, its Service.

- A URL counts when its server has confirmed it: a route by its parent's status and its Gateway's, an Ingress and
  a load balancer by their addresses. Whether it also responds is not tested here.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass

from seamark.api.score import Exposure
from seamark.families.score.workloadexposure.state import Seen
from seamark.gatewayapi.attachment import AttachingRoute, NotAttached, attach
from seamark.gatewayapi.listeners import ParentKey
from seamark.gatewayapi.parents import accepting, condition_of, gateway_of, listeners_without, parent_key, programmed
from seamark_runtime.api.core import LoadBalancerIngress, Service
from seamark_runtime.api.gateway import BackendRef, Gateway, HTTPRoute, ListenerSet, RouteParentStatus
from seamark_runtime.api.meta import Key
from seamark_runtime.api.networking import Ingress, IngressBackend
from seamark_runtime.conditions import FALSE

SCHEMES = {80: "http", 8080: "http", 443: "https", 8443: "https", 50051: "grpc"}
HINTS = {"http": "HTTP", "https": "HTTPS", "grpc": "GRPC", "tcp": "TCP"}
NAMES = ("http", "https", "grpc", "tcp")
DEFAULT_PORTS = {"http": 80, "https": 443}
ROUTE, INGRESS, LOAD_BALANCER, SERVICE = 100, 90, 50, 0  # priorities


@dataclass(frozen=True)
class Place:
    """One way in: where it is, and the entry without whether it answers. `named`: it needs an answer in DNS first."""

    host: str
    port: int
    scheme: str
    path: str
    entry: Exposure
    named: bool = False


def places(seen: Seen) -> list[Place]:
    """Each URL once; secure ones before others of the same priority."""
    found = [*_routes(seen), *_ingresses(seen), *_load_balancers(seen), *_service(seen)]
    once = {place.entry.url: place for place in reversed(found)}
    return sorted(once.values(), key=lambda place: (-place.entry.priority, place.scheme != "https", place.entry.url))


def place(scheme: str, host: str, port: int, priority: int, path: str = "") -> Place:
    address = _address(host)
    path = "" if path == "/" else path
    netloc = f"[{host}]" if address is not None and address.version == 6 else host
    url = f"{scheme}://{netloc}{'' if DEFAULT_PORTS.get(scheme) == port else f':{port}'}{path}"
    scope = "VPC" if address is not None and not address.is_global else "Public"
    entry = Exposure(url=url, priority=priority, scope=scope, scheme_hint=HINTS.get(scheme, "OTHER"))
    return Place(host, port, scheme, path or "/", entry, named=address is None)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


# ---- routes


def _routes(seen: Seen) -> Iterator[Place]:
    for route in seen.routes:
        for entry in accepted(route):
            if (served := served_by(seen, route, entry)) is not None:
                yield from _routed(seen, route, entry, *served)


def _routed(
    seen: Seen, route: HTTPRoute, entry: RouteParentStatus, parent: Gateway | ListenerSet, gateway: Key
) -> Iterator[Place]:
    attaching = AttachingRoute("HTTPRoute", route.key, route.spec.hostnames, namespace_labels=None)
    listeners = {listener.id: listener for listener in listeners_without(parent, "Accepted", "Programmed")}
    attached = attach(attaching, entry.parent_ref, listeners.values())
    if isinstance(attached, NotAttached):
        return
    paths = list(_paths(seen, route))
    for id_, hostnames in attached.items():
        listener = listeners[id_]
        port = fronted(seen.fronts.get(gateway, ()), listener.port)
        for host in hostnames:
            if route.spec.hostnames or (host and not host.startswith("*")):
                for path in paths:
                    yield place(listener.protocol.lower(), host, port, ROUTE, path)


def served_by(seen: Seen, route: HTTPRoute, entry: RouteParentStatus) -> tuple[Gateway | ListenerSet, Key] | None:
    """The parent of an entry and its Gateway, once that is programmed."""
    key = parent_key(entry.parent_ref, route.metadata.namespace)
    parent = seen.parents.get(key) if key is not None else None
    gateway = gateway_of(parent) if parent is not None else None
    if parent is None or gateway is None:
        return None
    serving = seen.parents.get(ParentKey("Gateway", gateway))
    return (parent, gateway) if isinstance(serving, Gateway) and programmed(serving) else None


def fronted(fronts: tuple[Service, ...], port: int) -> int:
    """The port at which a listener is reached: its own, unless the load balancer before the Gateway has another."""
    return next((found for front in fronts for _, found in balanced(front, port)), port)


def _paths(seen: Seen, route: HTTPRoute) -> Iterator[str]:
    """Where its rules lead to the Service; the first way of a rule stands for it."""
    for rule in route.spec.rules:
        if seen.service_key in {backend_key(route, backend) for backend in rule.backend_refs}:
            match = next(iter(rule.matches or ()), None)
            yield match.path.value if match is not None and match.path is not None else "/"


def backend_key(route: HTTPRoute, backend: BackendRef) -> Key:
    return Key(backend.namespace or route.metadata.namespace, backend.name)


def accepted(route: HTTPRoute) -> list[RouteParentStatus]:
    """The entries of the parents that have taken the route as it is now, and found all that it refers to."""
    return [entry for entry in accepting(route) if not _refers_to_nothing(entry)]


def _refers_to_nothing(entry: RouteParentStatus) -> bool:
    resolved = condition_of(entry.conditions, "ResolvedRefs")
    return resolved is not None and resolved.status == FALSE


# ---- Ingresses, load balancers, the Service


def _ingresses(seen: Seen) -> Iterator[Place]:
    for ingress in seen.ingresses:
        secure = {host for tls in ingress.spec.tls or () for host in tls.hosts or ()}
        for host, path in _ways(ingress, seen.service_key.name):
            scheme = "https" if host in secure else "http"
            for address in addresses(ingress):
                yield place(scheme, host or address.hostname or address.ip, DEFAULT_PORTS[scheme], INGRESS, path)


def _ways(ingress: Ingress, service: str) -> Iterator[tuple[str, str]]:
    """(host, path) of what leads to a Service."""
    for rule in ingress.spec.rules or ():
        for path in rule.http.paths if rule.http else ():
            if _leads_to(path.backend, service):
                yield rule.host, path.path
                break
    if ingress.spec.default_backend is not None and _leads_to(ingress.spec.default_backend, service):
        yield "", "/"


def _leads_to(backend: IngressBackend, service: str) -> bool:
    return backend.service is not None and backend.service.name == service


def leads_to(ingress: Ingress) -> set[str]:
    """The Services that an Ingress leads to."""
    backends = [path.backend for rule in ingress.spec.rules or () if rule.http for path in rule.http.paths]
    backends += [ingress.spec.default_backend] if ingress.spec.default_backend else []
    return {backend.service.name for backend in backends if backend.service is not None}


def addresses(balanced: Ingress | Service) -> tuple[LoadBalancerIngress, ...]:
    found = (balanced.status.load_balancer.ingress if balanced.status else None) or ()
    return tuple(address for address in found if address.hostname or address.ip)


def load_balancers(seen: Seen) -> list[Service]:
    return [service for service in seen.services if service.spec is not None and service.spec.type == "LoadBalancer"]


def _load_balancers(seen: Seen) -> Iterator[Place]:
    for service in load_balancers(seen):
        for port in ((service.spec.ports if service.spec else None) or ())[:1]:
            scheme = scheme_of(port.name, port.port, port.protocol)
            for host, number in balanced(service, port.port):
                yield place(scheme, host, number, LOAD_BALANCER)


def balanced(service: Service, port: int) -> list[tuple[str, int]]:
    """Where a port of a load balancer is reached, by what its status says.

    A load balancer may give each port another number outside; then its status has them all, in the order of the ports.
    """
    if service.spec is None or service.spec.type != "LoadBalancer":
        return []
    inside = [service_port.port for service_port in service.spec.ports or () if service_port.protocol == "TCP"]
    outside = [
        (address.hostname or address.ip, outer.port) for address in addresses(service) for outer in address.ports or ()
    ]
    if len(outside) == len(inside) and port in inside:
        return [outside[inside.index(port)]]
    return [(address.hostname or address.ip, port) for address in addresses(service)]


def _service(seen: Seen) -> Iterator[Place]:
    if seen.service is None or seen.service.spec is None:
        return
    metadata = seen.service.metadata
    host = f"{metadata.name}.{metadata.namespace}.svc.cluster.local"
    for port in (seen.service.spec.ports or ())[:1]:
        scheme = scheme_of(port.name, port.port, port.protocol)
        hint = HINTS.get(scheme, "OTHER")
        url = f"{scheme}://{host}:{port.port}"
        entry = Exposure(url=url, priority=SERVICE, scope="ClusterLocal", scheme_hint=hint)
        yield Place(host, port.port, scheme, "/", entry)


def scheme_of(name: str, port: int, protocol: str) -> str:
    """By the port's name, else by its number: nothing else in a Score file shows it."""
    if protocol == "UDP":
        return "udp"
    named = next((scheme for scheme in NAMES if name == scheme or name.startswith(f"{scheme}-")), "")
    return named or ("http" if name == "web" else SCHEMES.get(port, "tcp"))
