"""The condition Reachable of a Service: whether a connection from outside gets through to the address in its status.

It follows from what its endpoints report, each of which has its own evidence; the worst one decides.
"""

from __future__ import annotations

from seamark.families.loadbalancer.model.conditions import condition_of
from seamark.families.loadbalancer.service.accepted import refusal
from seamark.families.loadbalancer.service.exposure import Exposure, texts
from seamark.families.loadbalancer.service.state import REACHABLE, Seen
from seamark.gatewayapi.listeners import FOREIGN_PORTS
from seamark_edge.claims import CREATED, Endpoint
from seamark_runtime.api.core import LoadBalancerIngress
from seamark_runtime.api.meta import Condition
from seamark_runtime.conditions import Awaited, worst

REFUSED = ("EndpointRefused", "DomainRefused", "Taken", "AddressNotReserved", "NoPorts")  # then nothing gets through
PARTS = (*CREATED, "UpstreamReachable")
LONGEST_LIST = 16_384  # characters of the list of foreign ports
OK = ("Reachable", "Connections to the address in the status get through to the Service")


def reachable_as(
    seen: Seen, accepted: Condition, assigned: Condition, ingress: tuple[LoadBalancerIngress, ...]
) -> Condition:
    if accepted.status == "False" and accepted.reason in REFUSED:
        return REACHABLE.false("NotAccepted", accepted.message)
    if not ingress:
        if assigned.status == "False":
            return REACHABLE.false("NoAddress", assigned.message)
        return REACHABLE.not_yet("Pending", "The Service has no address yet")
    if not seen.endpoints:
        return REACHABLE.not_yet("Pending", "The Service has no endpoint yet")
    parts = [part for url in dict.fromkeys(child.spec.url for child in serving(seen)) for part in at_place(seen, url)]
    if certificate := of_certificate(seen):
        parts.append(certificate)
    return worst(parts) or REACHABLE.true(*OK)


def serving(seen: Seen) -> tuple[Endpoint, ...]:
    """The endpoints that clients connect to. What is behind an endpoint that the edge keeps is dialled through it."""
    foreign = foreign_purposes(seen)
    urls = {url for purpose, url in texts(seen.service).items() if purpose not in foreign}
    return tuple(child for child in seen.endpoints if child.spec.url in urls) or seen.endpoints


def foreign_purposes(seen: Seen) -> frozenset[str]:
    """Of a gateway's Service, the ports that other namespaces have added: its condition is not about them."""
    exposure = seen.exposure
    if not isinstance(exposure, Exposure):
        return frozenset()
    named = frozenset(seen.service.annotation(FOREIGN_PORTS)[:LONGEST_LIST].split(","))
    return frozenset(purpose for purpose, port in exposure.by_purpose.items() if str(port.port) in named)


def at_place(seen: Seen, url: str) -> list[Condition]:
    """While one set of endpoints replaces another, a new one has no evidence yet, and clients reach the old one."""
    parts = [of_endpoint(child) for child in serving(seen) if child.spec.url == url and not child.deleting]
    return [part for part in parts if not isinstance(part, Awaited)] or parts


def of_endpoint(child: Endpoint) -> Condition:  # noqa: PLR0911  one row per cause
    name = child.metadata.name
    if created := refusal(child):
        return REACHABLE.false("EndpointOffline", created.message)
    for part in (condition for kind in PARTS if (condition := latest(child, kind)) is not None):
        if part.status == "True":
            continue
        if part.reason == "NoAgent":
            return REACHABLE.false("NoAgent", f"{part.message}: {name}")
        if part.status == "False":
            return REACHABLE.false("UpstreamUnreachable", part.message)
        if part.reason == "NotReported":
            return REACHABLE.unknown("NotReported", part.message)
        if part.reason == REACHABLE.lasting:
            return REACHABLE.unverified("It was not verified whether connections get through", at_once=True)
        return REACHABLE.not_yet("Pending", f"{part.message}: {name}")
    if latest(child, "UpstreamReachable") is None:
        return REACHABLE.not_yet("Pending", f"No agent has dialled the Service yet: {name}")
    return REACHABLE.true(*OK)


def latest(child: Endpoint, name: str) -> Condition | None:
    """Of any generation: until agents have taken a new one, clients reach the one before."""
    conditions = (child.status.conditions if child.status is not None else None) or ()
    return next((condition for condition in conditions if condition.type == name), None)


def of_certificate(seen: Seen) -> Condition | None:
    """A client of a domain needs a certificate."""
    certificate = condition_of(seen.domain, "CertificateReady")
    if certificate is None or certificate.status == "True":
        return None
    if certificate.status == "False":
        return REACHABLE.false("DomainNotReady", certificate.message)
    if certificate.reason == REACHABLE.lasting:
        return REACHABLE.unverified("It was not verified whether connections get through", at_once=True)
    return REACHABLE.not_yet("Pending", certificate.message)
