"""The family for scenarios: a zone `example.org` whose content is known."""

from __future__ import annotations

from seamark.families.dns.family import controllers, declared, dependencies_of
from seamark.families.dns.model.options import Options
from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.dns.model import QueryResults
from seamark_runtime.controller import Declaration
from tests.answering import SERVED, AnsweringMemory
from tests.unit.operator.families.dns.zones import ZONE, content, owned, record, rules


def dns() -> tuple[Declaration, ...]:
    """`www` is there, is answered, and belongs to DNSEndpoint default/www; `foreign` is there and has no owner."""
    under = rules(types=frozenset(("A", "AAAA", "CNAME")))
    dependencies = dependencies_of(Options(under), AnsweringMemory((ZONE,)))
    made, responses = declared(dependencies), dependencies.responses
    www, ownership = owned("www", "www A 192.0.2.1")
    responses.contents.put(ZONE, content(www, ownership, record("foreign A 192.0.2.200", ttl=300)))
    responses.answered(ZONE, (www,), QueryResults({www: SERVED}), 0.0, "2026-01-01T00:00:00Z")
    return made


def names() -> tuple[Declaration, ...]:
    """The names of routes as DNSEndpoints; only the controller that generates these."""
    made = controllers(Options(rules(objects=frozenset(("httproute",)))), MemoryProvider((ZONE,)))
    return tuple(declaration for declaration in made if declaration.name == "dnsnames-httproute")
