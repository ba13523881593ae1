"""The controllers of generated DNSEndpoints: one for each source whose names become DNSEndpoints."""

from __future__ import annotations

from functools import partial
from typing import Any

from seamark.api.dns import DNSEndpoint
from seamark.api.dnssources import AddressedNode
from seamark.families.dns.generatedendpoint.reconcile import desire, generated_name
from seamark.families.dns.generatedendpoint.state import MANAGER, ByOwner, Seen
from seamark.families.dns.model.dependencies import Dependencies
from seamark.families.dns.model.desired import supported
from seamark.families.dns.model.indexes import EVERYTHING, hidden
from seamark.families.dns.model.rules import Rules
from seamark.families.dns.sources.endpoints import endpoints_of, names_of
from seamark.families.dns.sources.kinds import SOURCES, AddressSources, SourceKind
from seamark.families.dns.sources.parents import parent_of
from seamark.providers.dns.model import zone_of
from seamark_runtime.api.gateway import Gateway, ListenerSet
from seamark_runtime.api.gatewayshared import GROUP as GATEWAY
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Index
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Declaration, Reads, Writes
from seamark_runtime.untrusted.dnsnames import InvalidDnsName, canonical_name
from seamark_runtime.view import View

NODES = Index(AddressedNode, lambda _node: (EVERYTHING,), "all nodes, for names")


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    rules = dependencies.options.rules
    return tuple(_controller(SOURCES[name], rules) for name in sorted(rules.objects))


def _controller(source: SourceKind, rules: Rules) -> CollectionController[Seen]:
    parents = (Gateway, ListenerSet) if source.kind.RESOURCE.group == GATEWAY else ()
    nodes = source.name == "service"

    def observe(view: View, key: Key, _results: Results) -> Seen | None:
        return _observe(view, key, source, rules)

    return CollectionController(
        name=f"dnsnames-{source.name}",
        keyed={source.kind: lambda obj: (obj.key,)},
        observe=observe,
        desire=desire,
        reads=Reads(
            kinds=(AddressedNode,) if nodes else (),
            optional=tuple(dict.fromkeys((source.kind, *parents))) if parents else (),
            indexes=(NODES,) if nodes else (),
        ),
        writes=Writes(manager=MANAGER, children=(DNSEndpoint,), ownership=ByOwner(source.kind.RESOURCE.kind)),
    )


def _observe(view: View, key: Key, source: SourceKind, rules: Rules) -> Seen | None:
    obj: Any = view.get(source.kind, key)
    if obj is None or obj.deleting or hidden(obj, rules):
        return None
    served = [name for name in names_of(source, obj) if _is_served(name, rules)]
    nodes = view.by(NODES, EVERYTHING) if source.name == "service" and served else ()
    addresses = AddressSources(partial(parent_of, view.get), nodes)
    narrowed = source.served is not None  # a wildcard of ours may be served under a name of a listener
    found = endpoints_of(source, obj, addresses, create_ptr=rules.create_ptr) if served or narrowed else ()
    wanted = tuple(supported(endpoint, rules) for endpoint in found if _is_served(endpoint.dns_name, rules))
    standing = view.get(DNSEndpoint, Key(key.namespace, generated_name(source, obj)))
    return Seen(source, obj, wanted, standing, bool(served or wanted))


def _is_served(name: str, rules: Rules) -> bool:
    """Also a name that has no canonical form is passed on: it is never served, and its DNSEndpoint reports why."""
    try:
        return zone_of(canonical_name(name), rules.zones) is not None
    except InvalidDnsName:
        return True
