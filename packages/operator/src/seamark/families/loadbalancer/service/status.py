"""The status of a Service: its address, and why there is none."""

from __future__ import annotations

from collections.abc import Iterable

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.hosts import host_of
from seamark.families.loadbalancer.said import passing, said, was_true
from seamark.families.loadbalancer.service.reconcile import find, fixed_address, found, keep, not_reserved, taken
from seamark.families.loadbalancer.service.state import ACCEPTED, ASSIGNED, Seen
from seamark.families.loadbalancer.service.wish import FIRST, Mistake, Wish, computed
from seamark_edge.claims import CREATED, IN_USE, Endpoint, refused
from seamark_edge.urls import Place
from seamark_runtime.api.core import IngressPort, LoadBalancerIngress, LoadBalancerStatus, ServiceStatus
from seamark_runtime.api.meta import Condition
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Failed
from seamark_runtime.source import NotYet, Stale


def judge(seen: Seen, answers: Answers) -> ServiceStatus:
    wish = seen.wish
    if wish is None:
        retained = seen.options.drain == "Retain"
        return going(seen, answers) if seen.service.deleting or retained else ServiceStatus(conditions=())
    accepted = accepted_as(seen, wish, answers)
    # Without a change the running endpoint stays, and so does its condition.
    ingress = stood(seen) if isinstance(wish, Mistake) or seen.rival is not None else ingress_of(seen, wish)
    assigned = assigned_as(seen, wish, accepted, ingress)
    load_balancer = LoadBalancerStatus(ingress=ingress or None)
    return ServiceStatus(conditions=(with_undeleted(accepted, answers), assigned), load_balancer=load_balancer)


def with_undeleted(accepted: Condition, answers: Answers) -> Condition:
    """An endpoint that is not wanted any more may still be reached: shown here, though the address is not affected."""
    if accepted.status != "True" or not answers.undeleted:
        return accepted
    return ACCEPTED.false("EndpointRefused", answers.undeleted[0].message)


def going(seen: Seen, answers: Answers) -> ServiceStatus:
    """Shown only while it lasts: why an endpoint still exists, or why the edge does not release it."""
    before = seen.service.status or ServiceStatus(conditions=())
    kept = [condition for condition in before.conditions or () if condition.type == ACCEPTED.name]
    words = answers.undeleted[0].message if answers.undeleted else ""
    match seen.results.to(keep(seen, ())):
        case Failed(message=message):
            words = words or f"The edge does not release it: {message}"
    if words:
        assigned = ASSIGNED.unknown("Releasing", words)
        return ServiceStatus(conditions=(*kept, assigned), load_balancer=before.load_balancer)
    ours = tuple(one for one in before.conditions or () if one.type in (ACCEPTED.name, ASSIGNED.name))
    return ServiceStatus(conditions=ours, load_balancer=before.load_balancer)


def stood(seen: Seen) -> tuple[LoadBalancerIngress, ...]:
    status = seen.service.status
    return (status.load_balancer.ingress or ()) if status is not None else ()


def accepted_as(seen: Seen, wish: Wish | Mistake, answers: Answers) -> Condition:  # noqa: PLR0911  one row per reason
    if isinstance(wish, Mistake):
        return ACCEPTED.false(wish.reason, wish.message)
    if seen.rival is not None:
        return ACCEPTED.false("Taken", taken(seen, wish))
    if fixed_address(wish) and found(seen, wish) is False:
        return ACCEPTED.false("AddressNotReserved", not_reserved(wish))
    if lacks := wish.lacks:
        return ACCEPTED.false(lacks.reason, lacks.message)
    if seen.policy is not None and seen.policy.error:
        return ACCEPTED.false("TrafficPolicyError", seen.policy.error)
    if refused := next(iter(answers.refusals.values()), None):
        return ACCEPTED.false("EndpointRefused", refused.message)
    if seen.domain is not None and (created := said(seen.domain, "DomainCreated")) and created.status == "False":
        return ACCEPTED.false("DomainRefused", created.message)
    return of_endpoints(seen) or ACCEPTED.true("Accepted", "The Service can be reached as it asks")


def of_endpoints(seen: Seen) -> Condition | None:
    """What the edge refuses is shown on the user's object."""
    for child in seen.endpoints:
        policy = said(child, "TrafficPolicyApplied")
        if policy is not None and policy.status == "False":
            return ACCEPTED.false("TrafficPolicyError", policy.message)
        if created := refusal(child):
            return ACCEPTED.false("EndpointRefused", created.message)
        if refused(child):  # of an earlier generation: that stands until it is taken back
            return ACCEPTED.false("EndpointRefused", IN_USE)
    return None


def refusal(child: Endpoint) -> Condition | None:
    """The condition by which an endpoint is refused as it is now. That no agent holds it any more is not a refusal."""
    for created in (said(child, name) for name in CREATED):
        if created is not None and created.status == "False" and created.reason != "NoAgent":
            return created
    return None


def assigned_as(  # noqa: PLR0911  one row per answer
    seen: Seen, wish: Wish | Mistake, accepted: Condition, ingress: tuple[LoadBalancerIngress, ...]
) -> Condition:
    if isinstance(wish, Mistake) or seen.rival is not None:
        return _kept(ingress, accepted)
    edge = confirmation(seen, wish)
    if ingress:
        if isinstance(edge, Failed | Stale):
            return ASSIGNED.unknown("NotVerified", edge.message if isinstance(edge, Failed) else "Not confirmed lately")
        if isinstance(edge, NotYet):
            return ASSIGNED.not_yet("Reserving", "The edge has not confirmed the address yet")
        if words := given_up(seen):
            return ASSIGNED.false("NoAgent", words)
        if words := not_renewed(seen):
            return ASSIGNED.unknown("NotVerified", words)
        return ASSIGNED.true("AddressAssigned", "The Service is reached at the address in its status")
    return _missing(seen, wish, accepted, edge)


def given_up(seen: Seen) -> str:
    """Why no traffic reaches the Service, whose address stays: its endpoints were online, and are not any more."""
    told = said(seen.service, ASSIGNED.name)
    for child in seen.agents:
        created = said(child, "EndpointCreated")
        if created is None or created.status == "True":
            continue
        if created.reason == "NoAgent" or (told is not None and told.reason == "NoAgent"):
            return f"{created.message}: {child.metadata.name}"
    return ""


def not_renewed(seen: Seen) -> str:
    """Why it is not known whether clients reach an endpoint: it was there, and the edge refuses it as it is now.

    A policy that the edge refuses does not count: then the endpoint stays as it was.
    """
    for child in seen.endpoints:
        policy, told = said(child, "TrafficPolicyApplied"), refusal(child)
        if told is not None and not turned_away(child) and (policy is None or policy.status != "False"):
            return told.message
    return ""


def confirmation(seen: Seen, wish: Wish) -> object:
    """What the edge has answered about the address; a domain has an object of its own that tells."""
    if wish.chosen:
        return seen.results.to(keep(seen, wish.purposes))
    return seen.results.to(find(seen, wish)) if fixed_address(wish) else None


def _kept(ingress: tuple[LoadBalancerIngress, ...], accepted: Condition) -> Condition:
    if ingress:
        return ASSIGNED.unknown("NotVerified", "What runs stays as it is")
    return ASSIGNED.false("NotAccepted", accepted.message)


def _missing(seen: Seen, wish: Wish, accepted: Condition, edge: object) -> Condition:  # noqa: PLR0911  one row per cause
    """Why there is no address yet."""
    if isinstance(edge, Failed):
        told = ASSIGNED.not_yet("Reserving", edge.message) if passing(edge) else None
        return told or ASSIGNED.false("EdgeFailed", edge.message)
    if accepted.status == "False" and accepted.reason == "TrafficPolicyError":
        return ASSIGNED.false("WaitingForPolicy", accepted.message)
    if accepted.status == "False":
        return ASSIGNED.false("NotAccepted", accepted.message)
    if isinstance(edge, NotYet) or (fixed_address(wish) and found(seen, wish) is None):
        return ASSIGNED.not_yet("Reserving", "The edge has not answered yet")
    if wish.place.scheme == "tls" and front(seen, wish.place) is not None:
        if is_wildcard(shown(seen, wish.place)):
            return ASSIGNED.false("WildcardHost", f"A status can't show a wildcard; clients use hosts of {wish.place}")
        before = said(seen.service, ASSIGNED.name)  # what kept it from being accepted is over: that word falls
        say = ASSIGNED.unknown if before is not None and before.reason == "NotAccepted" else ASSIGNED.not_yet
        return say("WaitingForDomain", "The domain is not reserved yet")
    return ASSIGNED.not_yet("WaitingForEndpoint", "The endpoint is not made yet")


# ---- the address


def ingress_of(seen: Seen, wish: Wish) -> tuple[LoadBalancerIngress, ...]:
    """From the computed URLs alone, and only while there are endpoints at them."""
    if fixed_address(wish) and found(seen, wish) is False:
        return ()
    places = computed(seen.service, wish)
    if FIRST not in places:
        return ()
    hosts: dict[str, list[int]] = {}
    for where in places.values():
        if front(seen, where) is not None and (host := shown(seen, where)) and not is_wildcard(host):
            hosts.setdefault(host, []).append(where.port)
    return tuple(_entry(host, ports) for host, ports in hosts.items())


def front(seen: Seen, where: Place) -> object | None:
    """The endpoint that clients reach at this place: of either kind, as long as one gives way to the other.

    One that is refused, and is not there from before, can't be reached.
    """
    there = (child for child in seen.endpoints if child.spec.url == str(where))
    return next((child for child in there if not turned_away(child)), None)


def turned_away(child: Endpoint) -> bool:
    """Whether an endpoint is refused and no client reaches it, not even as it was before."""
    if refused(child):
        return True
    told = refusal(child)
    standing = child.status.assigned_url if child.status is not None else ""
    return told is not None and (told.reason == "ConfigurationError" or not standing)


def is_wildcard(host: str) -> bool:
    """The API server takes no wildcard as a hostname in a status."""
    return host.startswith("*.")


def shown(seen: Seen, where: Place) -> str:
    """The name to show for a place: "" while it is not known."""
    if where.scheme == "tcp":
        return where.host
    domain = seen.domain
    if domain is None or host_of(domain) != where.host or not reserved(domain):
        return ""
    assert domain.status is not None
    return domain.status.cname_target or domain.status.domain


def reserved(domain: Domain) -> bool:
    """The edge has answered: only now is it known whether the name is its own, or needs a record elsewhere."""
    return was_true(domain, "DomainCreated") and domain.status is not None and bool(domain.status.id)


def _entry(host: str, ports: Iterable[int]) -> LoadBalancerIngress:
    listed = tuple(IngressPort(port=port, protocol="TCP") for port in ports)
    if host.replace(".", "").isdigit() or ":" in host:
        return LoadBalancerIngress(ip=host, ip_mode="Proxy", ports=listed)
    return LoadBalancerIngress(hostname=host, ports=listed)
