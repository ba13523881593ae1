"""Which namespace a place at the edge belongs to. The operator and the agents decide by the same functions. Pure.

- A place belongs to one namespace. All endpoints of that namespace may share it; endpoints of others may not.
- The claims on a place are ordered, and the first one decides. `spec.url` can be edited at any time, so the age of an
  object alone is no claim: what the operator has written to its status comes first.
- A host below a wildcard that the edge has belongs to the first of both: a claim on the host, or one on the wildcard.
- `status` is written by the operator alone: tenants have no right to the subresource.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint
from seamark_edge.urls import Place, readable
from seamark_runtime.untrusted.patterns import Pattern

TAKEN = "Taken"  # the reason of the condition by which the operator refuses a place
CREATED = ("EndpointCreated", "CloudEndpointCreated")  # the conditions that have this reason
IN_USE = (
    "spec.url: the URL is in use by another namespace, or was until lately and is kept for it: choose another URL,"
    " or ask the administrator of the edge"
)
KUBERNETES = "kubernetes"
OF_SERVICE = Pattern(r"[0-9a-f]{8}\.([a-z0-9-]+)\.internal")
BINDINGS_SETTING = "lb_cross_namespace_bindings"  # of the operator; the chart sets it for the agents, too

Endpoint = AgentEndpoint | CloudEndpoint


class Standing(IntEnum):
    """What a claim is based on; the lowest comes first."""

    RESERVED = 0  # the edge has reserved the place for an object of this namespace; only the operator knows
    CHOSEN = 1  # the edge chose the place for the endpoint, whose URL leaves that to the edge
    ASSIGNED = 2  # status.assignedURL is at the place that spec.url names
    NAMED = 3  # spec.url names the place


@dataclass(frozen=True, slots=True, order=True)
class Claim:
    """A claim on a place. Claims compare by rank: the least one decides. Its fields are in the order of the rank."""

    refused: bool  # the operator has refused the place to the endpoint
    standing: Standing
    created: str
    namespace: str
    name: str = ""


def reserved(namespace: str, created: str = "") -> Claim:
    """The claim of a Service or Domain for which the edge has reserved the place."""
    return Claim(refused=False, standing=Standing.RESERVED, created=created, namespace=namespace)


def owner(claims: Iterable[Claim]) -> str | None:
    """The namespace that the place belongs to; None without a claim."""
    first = min(claims, default=None)
    return None if first is None else first.namespace


def keeps_hosts(wildcard: Claim | None) -> bool:
    """Whether a claim on a wildcard is one on the hosts below it.

    A wildcard that the edge does not have keeps no host: any tenant may name any wildcard, and the edge refuses that
    of its own domain, below which all tenants have hosts.
    """
    return wildcard is not None and not wildcard.refused and wildcard.standing is not Standing.NAMED


def deciding(host: Claim | None, wildcard: Claim | None) -> Claim | None:
    """The claim that decides about a host, of the first ones on it and on the wildcard above it."""
    claims = (host, wildcard if keeps_hosts(wildcard) else None)
    return min((claim for claim in claims if claim is not None), default=None)


def owner_of_host(host: Claim | None, wildcard: Claim | None) -> str | None:
    """The namespace that a host belongs to."""
    first = deciding(host, wildcard)
    return None if first is None else first.namespace


def claim_of(endpoint: Endpoint, *, any_binding: bool = False) -> tuple[str, Claim] | None:
    """The place that an endpoint claims, and its claim.

    None if it claims none: it is being deleted, its URL can't be read or may not be used in its namespace, or the edge
    is to choose a place and has not yet. `any_binding`: endpoints may be bound into any namespace.
    """
    named, assigned = readable(endpoint.spec.url), readable(endpoint.status.assigned_url if endpoint.status else "")
    if endpoint.deleting or named is None or foreign(endpoint, any_binding=any_binding):
        return None
    if named.fixed:
        standing = Standing.ASSIGNED if assigned is not None and assigned.owned == named.owned else Standing.NAMED
    elif assigned is not None and assigned.fixed:
        named, standing = assigned, Standing.CHOSEN
    else:
        return None
    meta = endpoint.metadata
    claim = Claim(refused(endpoint), standing, meta.creation_timestamp or "", meta.namespace, meta.name)
    return _where(endpoint, named), claim


def judged_at(endpoint: Endpoint) -> tuple[str, ...]:
    """The places whose claims decide about an endpoint: its own, and the wildcard above. () if the edge chooses one."""
    named = readable(endpoint.spec.url)
    if named is None or not named.fixed:
        return ()
    own = _where(endpoint, named)
    public = named.named and not _bound(endpoint) and not named.host.startswith("*.")
    return (own, wildcard_above(named.host)) if public else (own,)


def wildcard_above(host: str) -> str:
    """The wildcard that receives connections for this host while no endpoint has it."""
    return f"*.{host.partition('.')[2]}"


def _where(endpoint: Endpoint, named: Place) -> str:
    """Names of Services are apart from public host names: an edge does not pool endpoints of different bindings."""
    return f"{KUBERNETES} {named.owned}" if _bound(endpoint) else named.owned


def _bound(endpoint: Endpoint) -> bool:
    return KUBERNETES in (endpoint.spec.bindings or ())


def refused(endpoint: Endpoint) -> bool:
    """Whether the operator has refused the place. That stands until the operator takes it back, for any generation."""
    conditions = (endpoint.status.conditions if endpoint.status is not None else None) or ()
    return any(
        condition.type in CREATED and (condition.status, condition.reason) == ("False", TAKEN)
        for condition in conditions
    )


def foreign(endpoint: Endpoint, *, any_binding: bool) -> str:
    """Why the form of its URL belongs to another namespace; "" if it does not."""
    return foreign_internal(endpoint) or ("" if any_binding else foreign_binding(endpoint))


def foreign_internal(endpoint: Endpoint) -> str:
    """Services have internal endpoints at such URLs, which no other namespace may have, not even while they are
    created again."""
    named = readable(endpoint.spec.url)
    of_service = OF_SERVICE.fullmatch(named.host) if named is not None else None
    if of_service is None or of_service[1] == endpoint.metadata.namespace:
        return ""
    return (
        "spec.url: an internal host of eight hexadecimal digits and a namespace is for the Services of that namespace:"
        " choose another host"
    )


def foreign_binding(endpoint: Endpoint) -> str:
    """Why its URL may not be bound into the cluster from its namespace; "" if it may."""
    named = readable(endpoint.spec.url)
    if named is None or not named.fixed or not _bound(endpoint):
        return ""
    if named.host.partition(".")[2] == endpoint.metadata.namespace:
        return ""
    return (
        "spec.url: with the binding kubernetes the host is NAME.NAMESPACE, and the namespace is that of this object:"
        f" write {named.host.partition('.')[0]}.{endpoint.metadata.namespace}; {BINDINGS_SETTING} of the installation"
        " allows other namespaces"
    )
