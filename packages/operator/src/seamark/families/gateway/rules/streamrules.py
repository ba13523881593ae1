"""Rules of TLSRoutes and TCPRoutes: where whole connections go."""

from __future__ import annotations

from seamark.families.gateway.model.routes import Rule
from seamark.families.gateway.rules.backends import Resolver
from seamark.families.gateway.values import limits
from seamark_edge.dataplane import model
from seamark_runtime.api.gatewayroutes import BackendRef, TCPRoute, TLSRoute


def compiled(route: TLSRoute | TCPRoute, resolver: Resolver) -> list[Rule]:
    """Of several rules only the first counts: nothing in a connection could choose between them."""
    origin = model.Origin(route.RESOURCE.kind, route.metadata.namespace, route.metadata.name)
    rules = []
    for rule in route.spec.rules[:1]:
        targets = tuple(
            _target(f"backendRefs[{number}]", ref, resolver) for number, ref in enumerate(rule.backend_refs)
        )
        entry = model.Entry(model.Match(), model.Forward(targets), origin, rule.name or "")
        rules.append(Rule(rule.name or "", (entry,), ((),)))
    return rules


def _target(field: str, ref: BackendRef, resolver: Resolver) -> model.Target:
    weight = limits.integer(f"{field}.weight", ref.weight, 0, limits.MOST_WEIGHT)
    return model.Target(resolver.cluster(field, ref, "tcp"), weight)
