"""Names that other objects have by their annotations and status: Services, Ingresses, Gateways and their routes. Pure.

- Annotations have the prefix `external-dns.kubernetes.io/` or, as before, `external-dns.alpha.kubernetes.io/`; if both
  are there, the first counts.
- `hostname` names it (several with commas), `target` replaces the object's own addresses, `ttl` is in
  seconds or as `1m30s`, `set-identifier` distinguishes records, `internal-hostname` names a Service's cluster
  address. An
  object with another `controller` than `dns-controller` is ignored.
- `access` selects the nodes' addresses of a NodePort Service: `public` or `private`; else public, if there are
  any. `alias`, and what begins with the name of a provider (`aws-…`, `webhook-…`), are properties for providers.
- `record-type: ptr` gives each address its way back (a PTR record), and an empty one none, whatever the setting says.
- An object that has no address yet wishes for nothing; what stands under its name is let alone.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from seamark.api.dns import Endpoint, ProviderSpecific
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
from seamark.families.dns.wishes import LONGEST_TTL, MOST_TARGETS_IN_ALL
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.untrusted.dnsnames import InvalidDnsName, canonical_name
from seamark_runtime.untrusted.patterns import Pattern

PREFIXES = ("external-dns.kubernetes.io/", "external-dns.alpha.kubernetes.io/")
OURS = "dns-controller"
LONGEST_DURATION = 100  # characters
DURATION = Pattern(r"(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?")

# Annotations that are properties of a provider: how they begin, and what that becomes.
PROPERTIES = {"aws-": "aws/", "scw-": "scw/", "ibmcloud-": "ibmcloud-", "coredns-": "coredns/", "webhook-": "webhook/"}
WHOLE_PROPERTIES = ("cloudflare-",)  # these keep their full name


@dataclass
class Around:
    """What an object's addresses may come from: gateways, by name, and nodes. `read` is what was asked for."""

    find: Callable[[Key], AddressedGateway | None] = lambda _key: None
    nodes: tuple[AddressedNode, ...] = ()
    read: dict[Key, AddressedGateway | None] = field(default_factory=dict)

    def gateway(self, key: Key) -> AddressedGateway | None:
        found = self.read[key] = self.find(key)
        return found


@dataclass(frozen=True)
class SourceKind:
    """A kind that has names: `hostnames` by what its users say, `targets` by where it can be reached.

    `leans`: whether that depends on other objects.
    """

    name: str
    kind: type[Object]
    hostnames: Callable[[Any], Iterable[str]]
    targets: Callable[[Any, Around], Iterable[str]]
    leans: Callable[[Any], bool] = lambda _obj: False


def said(obj: Object, name: str) -> str:
    """An annotation under either prefix."""
    return next((value for prefix in PREFIXES if (value := obj.annotation(prefix + name))), "")


def listed(text: str) -> list[str]:
    return [part for part in (part.strip() for part in text.split(",")) if part]


def names_of(source: SourceKind, obj: Object) -> list[str]:
    if obj.deleting or (said(obj, "controller") or OURS) != OURS:
        return []
    found = [*source.hostnames(obj), *listed(said(obj, "hostname")), *listed(said(obj, "internal-hostname"))]
    once: dict[str, str] = {}
    for name in found:
        once.setdefault(spelling(name), name)
    return list(once.values())


def spelling(name: str) -> str:
    """A name as names are compared; one without a canonical form is reported where it is read."""
    try:
        return canonical_name(name)
    except InvalidDnsName:
        return name


def endpoints_of(source: SourceKind, obj: Any, around: Around, *, create_ptr: bool = False) -> tuple[Endpoint, ...]:
    """Its wishes, in the shape of those of a DNSEndpoint. The work is linear in names and targets: names share them."""
    internal = dict.fromkeys(listed(said(obj, "internal-hostname")))
    inner = {spelling(name) for name in internal}
    outside = templates(obj, listed(said(obj, "target")) or source.targets(obj, around))
    made = [one for name in names_of(source, obj) if spelling(name) not in inner for one in named(outside, name)]
    cluster = getattr(getattr(obj, "spec", None), "cluster_ip", "")
    inside = templates(obj, [cluster] if cluster not in ("", "None") else [])
    made += [one for name in internal for one in named(inside, name)]
    if sum(len(one.targets) for one in made) > MOST_TARGETS_IN_ALL:
        return tuple(made)  # more than is served: it is reported where records are checked
    return (*made, *ways_back(obj, made, create_ptr=create_ptr))


def templates(obj: Object, targets: Iterable[str]) -> list[Endpoint]:
    """The records of an object, one for each type of its targets, without a name."""
    by_type: dict[str, list[str]] = {}
    for target in targets:
        by_type.setdefault(type_of(target), []).append(target)
    ttl, identifier, properties = seconds(said(obj, "ttl")), said(obj, "set-identifier"), properties_of(obj)
    return [
        Endpoint(
            record_type=type_,
            targets=tuple(some),
            record_ttl=ttl,
            set_identifier=identifier,
            provider_specific=properties,
        )
        for type_, some in sorted(by_type.items())
    ]


def named(records: Iterable[Endpoint], name: str) -> list[Endpoint]:
    return [msgspec.structs.replace(record, dns_name=name) for record in records]


def properties_of(obj: Object) -> tuple[ProviderSpecific, ...]:
    found = {"alias": "true"} if said(obj, "alias") == "true" else {}
    for prefix in reversed(PREFIXES):  # the new one counts
        for annotation, value in (obj.metadata.annotations or {}).items():
            name = annotation.removeprefix(prefix)
            if name == annotation:
                continue
            found |= {
                into + name.removeprefix(start): value for start, into in PROPERTIES.items() if name.startswith(start)
            }
            if name.startswith(WHOLE_PROPERTIES):
                found[annotation] = value
    return tuple(ProviderSpecific(name=name, value=value) for name, value in sorted(found.items()))


def wants_ways_back(obj: Object, *, create_ptr: bool) -> bool:
    annotations = obj.metadata.annotations or {}
    asked = [annotations[name] for prefix in PREFIXES if (name := f"{prefix}record-type") in annotations]
    return asked[0].strip().lower() == "ptr" if asked else create_ptr


def ways_back(obj: Object, made: Iterable[Endpoint], *, create_ptr: bool) -> list[Endpoint]:
    """PTR records: for each address, the names that lead there."""
    if not wants_ways_back(obj, create_ptr=create_ptr):
        return []
    names: dict[str, dict[str, None]] = {}
    for one in made:
        if one.record_type in ("A", "AAAA") and not one.dns_name.startswith("*"):  # nothing leads back to a wildcard
            for target in (
                target for target in one.targets if "%" not in target
            ):  # a scope is reported with the record itself
                names.setdefault(ipaddress.ip_address(target).reverse_pointer, {})[one.dns_name] = None
    ttl = seconds(said(obj, "ttl"))
    return [
        Endpoint(dns_name=address, record_type="PTR", targets=tuple(some), record_ttl=ttl)
        for address, some in sorted(names.items())
    ]


def type_of(target: str) -> str:
    try:
        return "A" if ipaddress.ip_address(target).version == 4 else "AAAA"
    except ValueError:
        return "CNAME"


def seconds(text: str) -> int:
    """0 if it is not set. An impossible TTL (`LONGEST_TTL`) stays, and is reported with the record."""
    return duration(text) or 0


def duration(text: str) -> int | None:
    """None for what is no duration."""
    if text.isascii() and text.isdigit():
        return _capped(text)
    match = DURATION.fullmatch(text) if len(text) <= LONGEST_DURATION else None
    if match is None:
        return None
    hours, minutes, rest = (_capped(part or "0") for part in match.groups())
    return min(3600 * hours + 60 * minutes + rest, LONGEST_TTL + 1)


def _capped(digits: str) -> int:
    """A number of any length, as far as a TTL can tell them apart."""
    bare = digits.lstrip("0")
    return min(int(bare or 0), LONGEST_TTL + 1) if len(bare) <= 10 else LONGEST_TTL + 1


# ---- the kinds


def balanced(status: Balanced) -> list[str]:
    return [one.ip or one.hostname for one in status.load_balancer.ingress or () if one.ip or one.hostname]


def service_targets(service: NamedService, around: Around) -> list[str]:
    match service.spec.type:
        case "NodePort":
            return list(service.spec.external_ips or ()) or node_targets(said(service, "access"), around.nodes)
        case "LoadBalancer":
            return balanced(service.status) or list(service.spec.external_ips or ())
        case "ExternalName":
            return [service.spec.external_name] if service.spec.external_name else []
        case _:
            return list(service.spec.external_ips or ())


def node_targets(access: str, nodes: Iterable[AddressedNode]) -> list[str]:
    """An IPv6 address is public wherever it is listed."""
    found = [one for node in nodes if not node.spec.unschedulable for one in node.status.addresses or ()]
    private = [one.address for one in found if one.type == "InternalIP"]
    outside = [one.address for one in found if one.type == "ExternalIP"]
    if access == "private" or (access != "public" and not outside):
        return list(dict.fromkeys(private))
    return list(dict.fromkeys([*outside, *(address for address in private if ":" in address)]))


def is_node_port(service: NamedService) -> bool:
    return service.spec.type == "NodePort"


def ingress_names(ingress: NamedIngress) -> list[str]:
    rules = [rule.host for rule in ingress.spec.rules or () if rule.host]
    return [*rules, *(host for tls in ingress.spec.tls or () for host in tls.hosts or ())]


def gateway_targets(gateway: AddressedGateway, _around: Around) -> list[str]:
    return [address.value for address in gateway.status.addresses or () if address.value]


def route_targets(route: NamedRoute, around: Around) -> list[str]:
    """Where the gateways are that have accepted it. A `target` of the gateway itself counts for its routes."""
    found: dict[str, None] = {}
    for parent in route.status.parents or ():
        accepted = any(one.get("type") == "Accepted" and one.get("status") == "True" for one in parent.conditions)
        key = Key(parent.parent_ref.namespace or route.metadata.namespace, parent.parent_ref.name)
        gateway = around.gateway(key) if accepted and parent.parent_ref.kind == "Gateway" else None
        if gateway is not None:
            found.update(dict.fromkeys(listed(said(gateway, "target")) or gateway_targets(gateway, around)))
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
