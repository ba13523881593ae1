"""Names of other objects as DNSEndpoints of their own: so that the status of a route's name is visible.

- One DNSEndpoint for each object that has names in our zones, in its namespace, owned by it: it is deleted with it.
- An object that has no address right now keeps the records that it has.
- A foreign DNSEndpoint of that name is not changed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from seamark.api.dns import DNSEndpoint, DNSEndpointSpec, Endpoint
from seamark.api.dnssources import AddressedGateway, AddressedNode
from seamark.families.dns.reading import EVERYTHING, hidden
from seamark.families.dns.rules import Rules
from seamark.families.dns.sources import SOURCES, Around, SourceKind, endpoints_of, names_of
from seamark.providers.dns.model import zone_of
from seamark_runtime.api.gatewayshared import GROUP as GATEWAY
from seamark_runtime.api.meta import Key, Object, ObjectMeta, OwnerReference
from seamark_runtime.apply import Answers
from seamark_runtime.cache import Index
from seamark_runtime.controller import CollectionController, Wanted
from seamark_runtime.ownership import MANAGED_BY
from seamark_runtime.source import Collection
from seamark_runtime.untrusted.dnsnames import InvalidDnsName, canonical_name
from seamark_runtime.view import View

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
    """Our label marks it as created by us, its owner reference names the object."""

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


def declarations(rules: Rules) -> tuple[CollectionController[Seen], ...]:
    return tuple(group(SOURCES[name], rules) for name in sorted(rules.objects))


def group(source: SourceKind, rules: Rules) -> CollectionController[Seen]:
    gateways = (AddressedGateway,) if source.kind.RESOURCE.group == GATEWAY else ()
    nodes = source.name == "service"
    return CollectionController(
        name=f"dnsnames-{source.name}",
        manager=MANAGER,
        keyed={source.kind: lambda obj: (obj.key,)},
        reads=(AddressedNode,) if nodes else (),
        optional=(source.kind, *gateways) if gateways else (),
        indexes=(NODES,) if nodes else (),
        observe=lambda view, key, _results: observe(view, key, source, rules),
        desire=lambda seen: desire(seen, source),
        report=nothing,
        reports=Collection(f"names of {source.name}s"),
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
    """Also a name that has no canonical form is passed on: it is never served, and its DNSEndpoint says why."""
    try:
        return zone_of(canonical_name(name), rules.zones) is not None
    except InvalidDnsName:
        return True


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
