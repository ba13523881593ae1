"""The condition AddressAssigned of a Service: whether its status has its address, and why not."""

from __future__ import annotations

from seamark.families.loadbalancer.model.conditions import condition_of, is_refusal
from seamark.families.loadbalancer.service.accepted import refusal
from seamark.families.loadbalancer.service.addresses import front, is_wildcard, shown, turned_away
from seamark.families.loadbalancer.service.calls import confirmation, fixed_address, found
from seamark.families.loadbalancer.service.exposure import Exposure, Mistake
from seamark.families.loadbalancer.service.state import ASSIGNED, Seen
from seamark_runtime.api.core import LoadBalancerIngress
from seamark_runtime.api.meta import Condition
from seamark_runtime.calls import Failed
from seamark_runtime.source import NotYet, Stale

NOT_CONFIRMED = "The edge has not confirmed the address"


def assigned_as(  # noqa: PLR0911  one row per response
    seen: Seen, exposure: Exposure | Mistake, accepted: Condition, ingress: tuple[LoadBalancerIngress, ...]
) -> Condition:
    if isinstance(exposure, Mistake) or seen.holder is not None:
        return _kept(ingress, accepted)
    edge = confirmation(seen, exposure)
    if not ingress:
        return _missing(seen, exposure, accepted, edge)
    if isinstance(edge, Failed | Stale):
        return ASSIGNED.unverified(NOT_CONFIRMED, edge.message if isinstance(edge, Failed) else "")
    if exposure.place.named and (unconfirmed := domain_unconfirmed(seen)):
        return unconfirmed
    if isinstance(edge, NotYet):
        return ASSIGNED.not_yet("Reserving", "The edge has not confirmed the address yet")
    if cause := offline(seen):
        return ASSIGNED.false("NoAgent", cause)
    if cause := not_renewed(seen):
        return ASSIGNED.unknown("EndpointRefused", cause)
    return ASSIGNED.true("AddressAssigned", "The edge has assigned the address in the status to the Service")


def domain_unconfirmed(seen: Seen) -> Condition | None:
    """The address of a domain is confirmed as long as its Domain is."""
    created = condition_of(seen.domain, "DomainCreated")
    if created is not None and created.status == "True":
        return None
    if created is not None and created.reason == ASSIGNED.lasting:
        return ASSIGNED.unverified(NOT_CONFIRMED, at_once=True)
    return ASSIGNED.not_yet("Reserving", "The edge has not confirmed the domain yet")


def offline(seen: Seen) -> str:
    """Why no traffic reaches the Service, whose address stays: its endpoints were online, and are not any more."""
    before = condition_of(seen.service, ASSIGNED.name)
    for child in seen.agents:
        created = condition_of(child, "EndpointCreated")
        if created is None or created.status == "True":
            continue
        if created.reason == "NoAgent" or (before is not None and before.reason == "NoAgent"):
            return f"{created.message}: {child.metadata.name}"
    return ""


def not_renewed(seen: Seen) -> str:
    """Why it is not known whether clients reach an endpoint: it was there, and the edge refuses it as it is now.

    A policy that the edge refuses does not count: then the endpoint stays as it was.
    """
    for child in seen.endpoints:
        policy, created = condition_of(child, "TrafficPolicyApplied"), refusal(child)
        if created is not None and not turned_away(child) and (policy is None or policy.status != "False"):
            return created.message
    return ""


def _kept(ingress: tuple[LoadBalancerIngress, ...], accepted: Condition) -> Condition:
    if ingress:
        return ASSIGNED.unknown("PreviousAddress", "The address is that of the previous configuration, which is kept")
    return ASSIGNED.false("NotAccepted", accepted.message)


def _missing(seen: Seen, exposure: Exposure, accepted: Condition, edge: object) -> Condition:  # noqa: PLR0911  one row per cause
    """Why there is no address yet."""
    if isinstance(edge, Failed) and is_refusal(edge):
        return ASSIGNED.false("EdgeFailed", edge.message)
    if isinstance(edge, Failed):
        return ASSIGNED.unverified("The edge has not answered about an address", edge.message, at_once=True)
    if accepted.status == "False" and accepted.reason == "TrafficPolicyError":
        return ASSIGNED.false("WaitingForPolicy", accepted.message)
    if accepted.status == "False":
        return ASSIGNED.false("NotAccepted", accepted.message)
    if isinstance(edge, NotYet) or (fixed_address(exposure) and found(seen, exposure) is None):
        return _awaited(seen, "Reserving", "The edge has not answered yet")
    if exposure.place.scheme == "tls" and front(seen, exposure.place) is not None:
        return _without_domain(seen, exposure)
    return _awaited(seen, "WaitingForEndpoint", "The endpoint is not made yet")


def _without_domain(seen: Seen, exposure: Exposure) -> Condition:
    where = exposure.place
    if is_wildcard(shown(seen, where)):
        return ASSIGNED.false("WildcardHost", f"A status can't show a wildcard; clients use hosts of {where}")
    before = condition_of(seen.service, ASSIGNED.name)
    if before is not None and before.reason == "NotAccepted":  # that cause is over: the condition does not stay
        return ASSIGNED.unknown("WaitingForDomain", "The edge has not confirmed the domain yet")
    return _awaited(seen, "WaitingForDomain", "The edge has not confirmed the domain yet")


def _awaited(seen: Seen, reason: str, message: str) -> Condition:
    """No response yet; but no condition that an address is assigned stays where there is none."""
    before = condition_of(seen.service, ASSIGNED.name)
    assigned = before is not None and before.status == "True"
    return (ASSIGNED.unknown if assigned else ASSIGNED.not_yet)(reason, message)
