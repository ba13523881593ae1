"""Names of other objects as DNSEndpoints of their own: so what came of a route's name is said where people look.

- One DNSEndpoint for each object that has names in our zones, in its namespace, owned by it: it goes with it.
- An object that has no address right now keeps the records that it has.
- A DNSEndpoint of somebody else under that name is not touched.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from seamark.api.dns import DNSEndpoint, DNSEndpointSpec, Endpoint
from seamark.api.dnssources import AddressedGateway, AddressedNode
from seamark.api.gatewayshared import GROUP as GATEWAY
from seamark.api.meta import Key, Object, ObjectMeta, OwnerReference
from seamark.core.apply import Answers
from seamark.core.cache import Index
from seamark.core.controller import Group, Wanted
from seamark.core.ownership import MANAGED_BY
from seamark.core.source import Reports
from seamark.core.view import View
from seamark.families.dns.reading import EVERYTHING, hidden
from seamark.families.dns.rules import Rules
from seamark.families.dns.sources import SOURCES, Around, SourceKind, endpoints_of, names_of
from seamark.providers.dns.model import zone_of
from seamark.providers.dns.names import BadName, normal

MANAGER = "seamark-dns-names"
NODES = Index(AddressedNode, lambda _node: (EVERYTHING,), "all nodes, for names")


@dataclass(frozen=True)
class Seen:
    """An object with its names: the records that it wants now, and those that stand."""

    obj: Any
    wanted: tuple[Endpoint, ...]
    standing: DNSEndpoint | None
    named: bool  # whether it has names of our zones at all


@dataclass(frozen=True)
class ByOwner:
    """Our label says that we made it, its owner reference for whom."""

    kind: str

    def token(self, owner: Object) -> Hashable:
        return owner.key

    def owners(self, child: Object) -> Iterable[Hashable]:
        if child.label(MANAGED_BY) == MANAGER:
            references = child.metadata.owner_references or ()
            yield from (Key(child.metadata.namespace, one.name) for one in references if one.kind == self.kind)

    def claim(self, _owner: Object, child: Any) -> Any:
        labels = {**(child.metadata.labels or {}), MANAGED_BY: MANAGER}
        return msgspec.structs.replace(child, metadata=msgspec.structs.replace(child.metadata, labels=labels))


def declarations(rules: Rules) -> tuple[Group[Seen], ...]:
    return tuple(group(SOURCES[name], rules) for name in sorted(rules.objects))


def group(source: SourceKind, rules: Rules) -> Group[Seen]:
    gateways = (AddressedGateway,) if source.kind.RESOURCE.group == GATEWAY else ()
    nodes = source.name == "service"
    return Group(
        name=f"dnsnames-{source.name}",
        manager=MANAGER,
        keyed={source.kind: lambda obj: (obj.key,)},
        reads=(AddressedNode,) if nodes else (),
        optional=(source.kind, *gateways) if gateways else (),
        indexes=(NODES,) if nodes else (),
        observe=lambda view, key, _results: observe(view, key, source, rules),
        desire=lambda seen: desire(seen, source),
        report=nothing,
        reports=Reports(f"names of {source.name}s"),
        children=(DNSEndpoint,),
        ownership=ByOwner(source.kind.RESOURCE.kind),
    )


def nothing(_seen: Seen, _answers: Answers) -> Mapping[Hashable, Any]:
    return {}


def observe(view: View, key: Key, source: SourceKind, rules: Rules) -> Seen | None:
    obj: Any = view.get(source.kind, key)
    if obj is None or obj.deleting or hidden(obj, rules):
        return None
    served = [name for name in names_of(source, obj) if is_served(name, rules)]
    nodes = view.by(NODES, EVERYTHING) if source.name == "service" and served else ()
    around = Around(partial(view.get, AddressedGateway), nodes)
    found = endpoints_of(source, obj, around, create_ptr=rules.create_ptr) if served else ()
    wanted = tuple(one for one in found if is_served(one.dns_name, rules))
    return Seen(obj, wanted, view.get(DNSEndpoint, Key(key.namespace, name_of(source, obj))), bool(served))


def is_served(name: str, rules: Rules) -> bool:
    try:
        return zone_of(normal(name), rules.zones) is not None
    except BadName:
        return False


def name_of(source: SourceKind, obj: Object) -> str:
    return f"{source.name}-{obj.metadata.name}"[:253]


def desire(seen: Seen, source: SourceKind) -> Wanted:
    if not seen.named:
        return Wanted()
    endpoints = seen.wanted or (seen.standing.spec.endpoints if seen.standing is not None else ())
    if not endpoints:
        return Wanted()
    meta, resource = seen.obj.metadata, source.kind.RESOURCE
    owner = OwnerReference(
        api_version=resource.api_version, kind=resource.kind, name=meta.name, uid=meta.uid, controller=True
    )
    metadata = ObjectMeta(
        name=name_of(source, seen.obj),
        namespace=meta.namespace,
        labels={name: value for name, value in (meta.labels or {}).items() if name != MANAGED_BY},
        owner_references=(owner,),
    )
    return Wanted(children={"names": DNSEndpoint(metadata=metadata, spec=DNSEndpointSpec(endpoints=endpoints))})
