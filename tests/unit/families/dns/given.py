"""The family for scenarios: a zone `example.org` whose content is known."""

from __future__ import annotations

from seamark.families.dns.controller import controllers
from seamark.providers.dns.memory import MemoryProvider
from seamark_runtime.controller import CollectionController, Declaration
from seamark_runtime.source import Facts
from tests.unit.families.dns.zones import ZONE, content, owned, record, rules


def dns() -> tuple[Declaration, ...]:
    """`www` is there and belongs to DNSEndpoint default/www; `foreign` is there and is nobody's."""
    under = rules(types=frozenset(("A", "AAAA", "CNAME")))
    declared = controllers(MemoryProvider((ZONE,)), under)
    group = declared[0]
    assert isinstance(group, CollectionController)
    contents = group.sources[0]
    assert isinstance(contents, Facts)
    contents.put(ZONE, content(owned("www", "www A 192.0.2.1"), record("foreign A 192.0.2.200", ttl=300)))
    return declared


def names() -> tuple[Declaration, ...]:
    """The names of routes as DNSEndpoints; only who makes these."""
    declared = controllers(MemoryProvider((ZONE,)), rules(objects=frozenset(("httproute",))))
    return tuple(one for one in declared if one.name == "dnsnames-httproute")
