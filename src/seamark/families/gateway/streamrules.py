"""Rules of TLSRoutes and TCPRoutes: where whole connections go."""

from __future__ import annotations

from seamark.api.gatewayroutes import TCPRoute, TLSRoute
from seamark.families.gateway.backends import Resolver
from seamark.families.gateway.shapes import Rule
from seamark.providers.dataplane import model


def compiled(route: TLSRoute | TCPRoute, resolver: Resolver) -> list[Rule]:
    """Of several rules only the first counts: nothing in a connection could choose between them."""
    origin = model.Origin(route.RESOURCE.kind, route.metadata.namespace, route.metadata.name)
    rules = []
    for rule in route.spec.rules[:1]:
        targets = tuple(model.Target(resolver.cluster(ref, "tcp"), ref.weight) for ref in rule.backend_refs)
        entry = model.Entry(model.Match(), model.Forward(targets), origin, rule.name or "")
        rules.append(Rule(rule.name or "", (entry,), ((),)))
    return rules
