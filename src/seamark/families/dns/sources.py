"""Names that other objects have by their annotations and status: Services, Ingresses, Gateways and their routes. Pure.

- Annotations have the prefix `external-dns.kubernetes.io/` or, as before, `external-dns.alpha.kubernetes.io/`; if both
  are there, the first counts.
- `hostname` names it (several with commas), `target` says where to instead of the object's own addresses, `ttl` is in
  seconds or as `1m30s`, `set-identifier` tells records apart, `internal-hostname` names a Service's cluster address. An
  object with another `controller` than `dns-controller` is somebody else's.
- An object that has no address yet wishes for nothing; what stands under its name is let alone.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from seamark.api.dns import Endpoint
from seamark.api.dnssources import (
    AddressedGateway,
    Balanced,
    NamedGRPCRoute,
    NamedHTTPRoute,
    NamedIngress,
    NamedRoute,
    NamedService,
    NamedTCPRoute,
    NamedTLSRoute,
)
from seamark.api.meta import Key, Object

PREFIXES = ("external-dns.kubernetes.io/", "external-dns.alpha.kubernetes.io/")
OURS = "dns-controller"
DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")

Find = Callable[[Key], AddressedGateway | None]  # a gateway by its key


@dataclass(frozen=True)
class SourceKind:
    """A kind that has names: `hostnames` by what its users say, `targets` by where it can be reached."""

    name: str
    kind: type[Object]
    hostnames: Callable[[Any], Iterable[str]]
    targets: Callable[[Any, Find], Iterable[str]]


def said(obj: Object, name: str) -> str:
    """An annotation under either prefix."""
    return next((value for prefix in PREFIXES if (value := obj.annotation(prefix + name))), "")


def listed(text: str) -> list[str]:
    return [part for part in (part.strip() for part in text.split(",")) if part]


def names_of(source: SourceKind, obj: Object) -> list[str]:
    if obj.deleting or (said(obj, "controller") or OURS) != OURS:
        return []
    found = [*source.hostnames(obj), *listed(said(obj, "hostname")), *listed(said(obj, "internal-hostname"))]
    return list(dict.fromkeys(found))


def endpoints_of(source: SourceKind, obj: Any, find: Find) -> tuple[Endpoint, ...]:
    """Its wishes, in the shape of those of a DNSEndpoint."""
    internal = listed(said(obj, "internal-hostname"))
    targets = listed(said(obj, "target")) or list(source.targets(obj, find))
    made = [one for name in names_of(source, obj) if name not in internal for one in records(obj, name, targets)]
    cluster = getattr(getattr(obj, "spec", None), "cluster_ip", "")
    inside = [cluster] if cluster not in ("", "None") else []
    return (*made, *(one for name in internal for one in records(obj, name, inside)))


def records(obj: Object, name: str, targets: Iterable[str]) -> list[Endpoint]:
    by_type: dict[str, list[str]] = {}
    for target in targets:
        by_type.setdefault(type_of(target), []).append(target)
    ttl, identifier = seconds(said(obj, "ttl")), said(obj, "set-identifier")
    return [
        Endpoint(dns_name=name, record_type=type_, targets=tuple(some), record_ttl=ttl, set_identifier=identifier)
        for type_, some in sorted(by_type.items())
    ]


def type_of(target: str) -> str:
    try:
        return "A" if ipaddress.ip_address(target).version == 4 else "AAAA"
    except ValueError:
        return "CNAME"


def seconds(text: str) -> int:
    """0 for what says nothing."""
    if text.isascii() and text.isdigit():
        return int(text)
    match = DURATION.fullmatch(text)
    hours, minutes, rest = (int(part or 0) for part in match.groups()) if match else (0, 0, 0)
    return 3600 * hours + 60 * minutes + rest


# ---- the kinds


def balanced(status: Balanced) -> list[str]:
    return [one.ip or one.hostname for one in status.load_balancer.ingress or () if one.ip or one.hostname]


def service_targets(service: NamedService, _find: Find) -> list[str]:
    match service.spec.type:
        case "LoadBalancer":
            return balanced(service.status) or list(service.spec.external_ips or ())
        case "ExternalName":
            return [service.spec.external_name] if service.spec.external_name else []
        case _:
            return list(service.spec.external_ips or ())


def ingress_names(ingress: NamedIngress) -> list[str]:
    rules = [rule.host for rule in ingress.spec.rules or () if rule.host]
    return [*rules, *(host for tls in ingress.spec.tls or () for host in tls.hosts or ())]


def gateway_targets(gateway: AddressedGateway, _find: Find) -> list[str]:
    return [address.value for address in gateway.status.addresses or () if address.value]


def route_targets(route: NamedRoute, find: Find) -> list[str]:
    """Where the gateways are that have accepted it. A `target` of the gateway itself counts for its routes."""
    found: dict[str, None] = {}
    for parent in route.status.parents or ():
        accepted = any(one.get("type") == "Accepted" and one.get("status") == "True" for one in parent.conditions)
        key = Key(parent.parent_ref.namespace or route.metadata.namespace, parent.parent_ref.name)
        gateway = find(key) if accepted and parent.parent_ref.kind == "Gateway" else None
        if gateway is not None:
            found.update(dict.fromkeys(listed(said(gateway, "target")) or gateway_targets(gateway, find)))
    return list(found)


def no_names(_obj: Object) -> tuple[str, ...]:
    return ()


def route_names(route: NamedRoute) -> tuple[str, ...]:
    return route.spec.hostnames or ()


SOURCES = {
    source.name: source
    for source in (
        SourceKind("service", NamedService, no_names, service_targets),
        SourceKind("ingress", NamedIngress, ingress_names, lambda ingress, _find: balanced(ingress.status)),
        SourceKind("gateway", AddressedGateway, no_names, gateway_targets),
        SourceKind("httproute", NamedHTTPRoute, route_names, route_targets),
        SourceKind("grpcroute", NamedGRPCRoute, route_names, route_targets),
        SourceKind("tlsroute", NamedTLSRoute, route_names, route_targets),
        SourceKind("tcproute", NamedTCPRoute, no_names, route_targets),
    )
}
