"""The records of an object of another kind than DNSEndpoint, in the shape of those of a DNSEndpoint. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Any

import msgspec

from seamark.api.dns import Endpoint
from seamark.families.dns.sources.annotations import (
    OURS,
    annotation,
    listed,
    properties_of,
    seconds,
    wants_reverse_records,
)
from seamark.families.dns.sources.kinds import AddressSources, NamedTargets, SourceKind
from seamark.families.dns.sources.limits import MOST_TARGETS_IN_ALL
from seamark_runtime.api.meta import Object
from seamark_runtime.untrusted.dnsnames import InvalidDnsName, canonical_name


def names_of(source: SourceKind, obj: Object) -> list[str]:
    """All of them, by the object alone."""
    if is_foreign(obj):
        return []
    return unique([*source.hostnames(obj), *annotated_names(obj)])


def annotated_names(obj: Object) -> list[str]:
    return [*listed(annotation(obj, "hostname")), *listed(annotation(obj, "internal-hostname"))]


def is_foreign(obj: Object) -> bool:
    return obj.deleting or (annotation(obj, "controller") or OURS) != OURS


def unique(names: Iterable[str]) -> list[str]:
    """In the spelling in which each comes first."""
    once: dict[str, str] = {}
    for name in names:
        once.setdefault(spelling(name), name)
    return list(once.values())


def spelling(name: str) -> str:
    """A name as names are compared; one without a canonical form is reported where it is read."""
    try:
        return canonical_name(name)
    except InvalidDnsName:
        return name


def endpoints_of(
    source: SourceKind, obj: Any, addresses: AddressSources, *, create_ptr: bool = False
) -> tuple[Endpoint, ...]:
    """Its records. The work is linear in names and targets: names share them."""
    internal = dict.fromkeys(listed(annotation(obj, "internal-hostname")))
    endpoints = external_records(source, obj, addresses, {spelling(name) for name in internal})
    cluster = getattr(getattr(obj, "spec", None), "cluster_ip", "")
    inside = templates(obj, [cluster] if cluster not in ("", "None") else [])
    endpoints += [endpoint for name in internal for endpoint in named(inside, name)]
    if sum(len(endpoint.targets) for endpoint in endpoints) > MOST_TARGETS_IN_ALL:
        return tuple(endpoints)  # more than is served: it is reported where records are checked
    return (*endpoints, *reverse_records(obj, endpoints, create_ptr=create_ptr))


def external_records(source: SourceKind, obj: Any, addresses: AddressSources, without: set[str]) -> list[Endpoint]:
    """The records of its names, without these. A `target` of the object replaces where each of them is served."""
    given = listed(annotation(obj, "target"))
    shared = templates(obj, given or source.targets(obj, addresses))
    served: NamedTargets = {}
    names = names_of(source, obj)
    if source.served is not None and not given and names:
        served = source.served(obj, addresses)
        names = unique([*served, *annotated_names(obj)])
    return [
        endpoint
        for name in names
        if spelling(name) not in without
        for endpoint in named(templates(obj, served[name]) if name in served else shared, name)
    ]


def templates(obj: Object, targets: Iterable[str]) -> list[Endpoint]:
    """The records of an object, one for each type of its targets, without a name."""
    by_type: dict[str, list[str]] = {}
    for target in targets:
        by_type.setdefault(type_of(target), []).append(target)
    ttl, identifier, properties = seconds(annotation(obj, "ttl")), annotation(obj, "set-identifier"), properties_of(obj)
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


def reverse_records(obj: Object, endpoints: Iterable[Endpoint], *, create_ptr: bool) -> list[Endpoint]:
    """PTR records: for each address, the names that resolve to it. A wildcard has none."""
    if not wants_reverse_records(obj, create_ptr=create_ptr):
        return []
    names: dict[str, dict[str, None]] = {}
    for endpoint in endpoints:
        if endpoint.record_type not in ("A", "AAAA") or endpoint.dns_name.startswith("*"):
            continue
        for target in endpoint.targets:
            if "%" not in target:  # a scope is reported with the record itself
                names.setdefault(ipaddress.ip_address(target).reverse_pointer, {})[endpoint.dns_name] = None
    ttl = seconds(annotation(obj, "ttl"))
    return [
        Endpoint(dns_name=address, record_type="PTR", targets=tuple(some), record_ttl=ttl)
        for address, some in sorted(names.items())
    ]


def type_of(target: str) -> str:
    try:
        return "A" if ipaddress.ip_address(target).version == 4 else "AAAA"
    except ValueError:
        return "CNAME"
