"""The kinds that have names, and where each of them can be reached. Pure.

- `access` selects the nodes' addresses of a NodePort Service: `public` or `private`; else public, if there are any.
- An object that has no address yet has no records; those that exist under its name are left as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from seamark.api.dnssources import (
    AddressedGateway,
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
from seamark.families.dns.sources.annotations import annotation, listed
from seamark_runtime.api.meta import Key, Object


@dataclass
class AddressSources:
    """What an object's addresses may come from: gateways, by name, and nodes. `read`: the gateways looked up so far."""

    find: Callable[[Key], AddressedGateway | None] = lambda _key: None
    nodes: tuple[AddressedNode, ...] = ()
    read: dict[Key, AddressedGateway | None] = field(default_factory=dict)

    def gateway(self, key: Key) -> AddressedGateway | None:
        found = self.read[key] = self.find(key)
        return found


@dataclass(frozen=True)
class SourceKind:
    """A kind that has names: `hostnames` by its spec, `targets` by where it can be reached.

    `depends`: whether its targets depend on other objects.
    """

    name: str
    kind: type[Object]
    hostnames: Callable[[Any], Iterable[str]]
    targets: Callable[[Any, AddressSources], Iterable[str]]
    depends: Callable[[Any], bool] = lambda _obj: False


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


def gateway_targets(gateway: AddressedGateway, _around: AddressSources) -> list[str]:
    return [address.value for address in gateway.status.addresses or () if address.value]


def route_targets(route: NamedRoute, addresses: AddressSources) -> list[str]:
    """Where the gateways are that have accepted it. A `target` of the gateway itself counts for its routes."""
    found: dict[str, None] = {}
    for parent in route.status.parents or ():
        accepted = any(
            condition.get("type") == "Accepted" and condition.get("status") == "True" for condition in parent.conditions
        )
        key = Key(parent.parent_ref.namespace or route.metadata.namespace, parent.parent_ref.name)
        gateway = addresses.gateway(key) if accepted and parent.parent_ref.kind == "Gateway" else None
        if gateway is not None:
            found.update(dict.fromkeys(listed(annotation(gateway, "target")) or gateway_targets(gateway, addresses)))
    return list(found)


def no_names(_obj: Object) -> tuple[str, ...]:
    return ()


def route_names(route: NamedRoute) -> tuple[str, ...]:
    return route.spec.hostnames or ()


def is_route(_route: NamedRoute) -> bool:
    return True


SOURCES = {
    source.name: source
    for source in (
        SourceKind("service", NamedService, no_names, service_targets, is_node_port),
        SourceKind("ingress", NamedIngress, ingress_names, lambda ingress, _around: balanced(ingress.status)),
        SourceKind("gateway", AddressedGateway, no_names, gateway_targets),
        SourceKind("httproute", NamedHTTPRoute, route_names, route_targets, is_route),
        SourceKind("grpcroute", NamedGRPCRoute, route_names, route_targets, is_route),
        SourceKind("tlsroute", NamedTLSRoute, route_names, route_targets, is_route),
        SourceKind("tcproute", NamedTCPRoute, no_names, route_targets, is_route),
    )
}
