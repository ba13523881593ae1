"""Which namespace a place at the edge belongs to, as far as the operator knows."""

from __future__ import annotations

from functools import partial
from typing import Any

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.model.dependencies import Dependencies
from seamark.families.loadbalancer.model.hosts import host_of
from seamark.families.loadbalancer.model.kept import effective
from seamark_edge import forwards
from seamark_edge.claims import Claim, Endpoint, claim_of, deciding, judged_at, keeps_hosts, wildcard_above
from seamark_runtime.api.meta import Key
from seamark_runtime.grants import Referrer, granted
from seamark_runtime.source import Source
from seamark_runtime.view import View

DOMAIN_TAKEN = "DomainTaken"


def sources(dependencies: Dependencies) -> tuple[Source, ...]:
    """What is read to decide about places."""
    return dependencies.claims, *dependencies.kept.sources


def taken(dependencies: Dependencies, view: View, endpoint: Endpoint) -> bool | None:
    """Whether another namespace has the place that this endpoint names; None if that is not known yet."""
    places = judged_at(endpoint)
    own = claim_of(endpoint, any_binding=dependencies.options.cross_namespace_bindings)
    host, wildcard = (*(_claim(dependencies, view, where) for where in places), None, None)[:2]
    if not places or own is None:
        return False
    first = deciding(host, wildcard)
    if host is None or first is None:
        return None
    if first.namespace != endpoint.metadata.namespace:
        return True
    return first.refused and dependencies.kept.starting(view)


def forward_refusal(dependencies: Dependencies, view: View, endpoint: Endpoint, policy: Any) -> str:
    """Why this endpoint may not have this policy; "" if it may. Agents check the same rules themselves."""
    if dependencies.options.cross_namespace:
        return ""

    def allowed(referrer: Referrer, kind: str, key: Key) -> bool:
        return granted(view, referrer, endpoint.RESOURCE.group, kind, key)

    return forwards.refusal(endpoint, policy, partial(_claim, dependencies, view), allowed)


def kept_from(dependencies: Dependencies, view: View, domain: Domain) -> bool:
    """Whether the name of a Domain is kept for another namespace that had it before."""
    host, namespace = host_of(domain), domain.metadata.namespace
    kept = dependencies.kept
    own, above = kept.at(view, host), kept.at(view, wildcard_above(host))
    holders = (own, above if keeps_hosts(above) else None)
    if any(claim is not None and claim.namespace != namespace for claim in holders):
        return True
    if not was_taken(domain):
        return False
    first = _claim(dependencies, view, host)
    return (first is None or first.refused) and kept.starting(view)


def was_taken(domain: Domain) -> bool:
    """Whether its status has the refusal."""
    conditions = (domain.status.conditions if domain.status is not None else None) or ()
    return any(
        condition.type == "DomainCreated" and (condition.status, condition.reason) == ("False", DOMAIN_TAKEN)
        for condition in conditions
    )


def _claim(dependencies: Dependencies, view: View, where: str) -> Claim | None:
    return effective(view.entry(dependencies.claims, where), dependencies.kept.at(view, where))
