"""The kinds that have names, and where each of them can be reached. Pure.

- `access` selects the nodes' addresses of a NodePort Service: `public` or `private`; else public, if there are any.
- An object that has no address yet has no records; those that exist under its name are left as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from seamark.api.dnssources import (
    AddressedNode,
    Balanced,
    NamedGRPCRoute,
    NamedHTTPRoute,
    NamedIngress,
    NamedRoute,
    NamedService,
    NamedTCPRoute,
    NamedTLSRoute,
)
from seamark.families.dns.sources.annotations import annotation
from seamark.families.dns.sources.parents import (
    RouteParent,
    gateway_addresses,
    route_names,
    route_targets,
    served_names,
)
from seamark.gatewayapi.listeners import ParentKey
from seamark_runtime.api.gateway import Gateway
from seamark_runtime.api.meta import Object

NamedTargets = dict[str, tuple[str, ...]]


@dataclass
class AddressSources:
    """What an object's addresses may come from: parents of routes (`read`: each is looked up once), and nodes."""

    find: Callable[[ParentKey], RouteParent | None] = lambda _key: None
    nodes: tuple[AddressedNode, ...] = ()
    read: dict[ParentKey, RouteParent | None] = field(default_factory=dict)

    def parent(self, key: ParentKey) -> RouteParent | None:
        if key not in self.read:
            self.read[key] = self.find(key)
        return self.read[key]


@dataclass(frozen=True)
class SourceKind:
    """A kind that has names: `hostnames` by its spec, `targets` by where it can be reached.

    - `depends`: whether its targets depend on other objects.
    - `served`: where each name of its spec is served, if not all of them are served at all targets.
    """

    name: str
    kind: type[Object]
    hostnames: Callable[[Any], Iterable[str]]
    targets: Callable[[Any, AddressSources], Iterable[str]]
    depends: Callable[[Any], bool] = lambda _obj: False
    served: Callable[[Any, AddressSources], NamedTargets] | None = None


def balanced(status: Balanced) -> list[str]:
    entries = status.load_balancer.ingress or ()
    return [entry.ip or entry.hostname for entry in entries if entry.ip or entry.hostname]


def service_targets(service: NamedService, addresses: AddressSources) -> list[str]:
    match service.spec.type:
        case "NodePort":
            return list(service.spec.external_ips or ()) or node_targets(annotation(service, "access"), addresses.nodes)
        case "LoadBalancer":
            return balanced(service.status) or list(service.spec.external_ips or ())
        case "ExternalName":
            return [service.spec.external_name] if service.spec.external_name else []
        case _:
            return list(service.spec.external_ips or ())


def node_targets(access: str, nodes: Iterable[AddressedNode]) -> list[str]:
    """An IPv6 address is public wherever it is listed."""
    found = [address for node in nodes if not node.spec.unschedulable for address in node.status.addresses or ()]
    private = [address.address for address in found if address.type == "InternalIP"]
    public = [address.address for address in found if address.type == "ExternalIP"]
    if access == "private" or (access != "public" and not public):
        return list(dict.fromkeys(private))
    return list(dict.fromkeys([*public, *(address for address in private if ":" in address)]))


def is_node_port(service: NamedService) -> bool:
    return service.spec.type == "NodePort"


def ingress_names(ingress: NamedIngress) -> list[str]:
    rules = [rule.host for rule in ingress.spec.rules or () if rule.host]
    return [*rules, *(host for tls in ingress.spec.tls or () for host in tls.hosts or ())]


def gateway_targets(gateway: Gateway, _addresses: AddressSources) -> tuple[str, ...]:
    return gateway_addresses(gateway)


def targets_of_route(route: NamedRoute, addresses: AddressSources) -> tuple[str, ...]:
    return route_targets(route, addresses.parent)


def names_served(route: NamedRoute, addresses: AddressSources) -> NamedTargets:
    return served_names(route, addresses.parent)


def no_names(_obj: Object) -> tuple[str, ...]:
    return ()


def is_route(_route: NamedRoute) -> bool:
    return True


SOURCES = {
    source.name: source
    for source in (
        SourceKind("service", NamedService, no_names, service_targets, is_node_port),
        SourceKind("ingress", NamedIngress, ingress_names, lambda ingress, _around: balanced(ingress.status)),
        SourceKind("gateway", Gateway, no_names, gateway_targets),
        SourceKind("httproute", NamedHTTPRoute, route_names, targets_of_route, is_route, names_served),
        SourceKind("grpcroute", NamedGRPCRoute, route_names, targets_of_route, is_route, names_served),
        SourceKind("tlsroute", NamedTLSRoute, route_names, targets_of_route, is_route, names_served),
        SourceKind("tcproute", NamedTCPRoute, no_names, targets_of_route, is_route),
    )
}
