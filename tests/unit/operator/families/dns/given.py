"""The family for scenarios: a zone `example.org` whose content is known."""

from __future__ import annotations

from seamark.families.dns.family import controllers
from seamark.families.dns.model.options import Options
from seamark.providers.dns.memory import MemoryProvider
from seamark_runtime.controller import CollectionController, Declaration
from seamark_runtime.source import Facts
from tests.unit.operator.families.dns.zones import ZONE, content, owned, record, rules


def dns() -> tuple[Declaration, ...]:
    """`www` is there and belongs to DNSEndpoint default/www; `foreign` is there and has no owner."""
    under = rules(types=frozenset(("A", "AAAA", "CNAME")))
    declared = controllers(Options(under), MemoryProvider((ZONE,)))
    group = declared[0]
    assert isinstance(group, CollectionController)
    contents = group.reads.sources[0]
    assert isinstance(contents, Facts)
    contents.put(ZONE, content(owned("www", "www A 192.0.2.1"), record("foreign A 192.0.2.200", ttl=300)))
    return declared


def names() -> tuple[Declaration, ...]:
    """The names of routes as DNSEndpoints; only the controller that generates these."""
    declared = controllers(Options(rules(objects=frozenset(("httproute",)))), MemoryProvider((ZONE,)))
    return tuple(declaration for declaration in declared if declaration.name == "dnsnames-httproute")
