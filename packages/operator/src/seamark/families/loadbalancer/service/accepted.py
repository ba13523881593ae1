"""The condition Accepted of a Service: whether what it asks for can be done."""

from __future__ import annotations

from seamark.families.loadbalancer.model.conditions import condition_of
from seamark.families.loadbalancer.service.calls import fixed_address, found
from seamark.families.loadbalancer.service.exposure import Exposure, Mistake
from seamark.families.loadbalancer.service.state import ACCEPTED, Seen
from seamark_edge.claims import CREATED, IN_USE, Endpoint, refused
from seamark_runtime.api.meta import Condition
from seamark_runtime.apply import Answers


def accepted_as(seen: Seen, exposure: Exposure | Mistake, answers: Answers) -> Condition:  # noqa: PLR0911  one row per reason
    if isinstance(exposure, Mistake):
        return ACCEPTED.false(exposure.reason, exposure.message)
    if seen.holder is not None:
        return ACCEPTED.false("Taken", taken(seen, exposure))
    if fixed_address(exposure) and found(seen, exposure) is False:
        return ACCEPTED.false("AddressNotReserved", not_reserved(exposure))
    if lacks := exposure.lacks:
        return ACCEPTED.false(lacks.reason, lacks.message)
    if seen.policy is not None and seen.policy.error:
        return ACCEPTED.false("TrafficPolicyError", seen.policy.error)
    if first := next(iter(answers.refusals.values()), None):
        return ACCEPTED.false("EndpointRefused", first.message)
    created = condition_of(seen.domain, "DomainCreated")
    if created is not None and created.status == "False":
        return ACCEPTED.false("DomainRefused", created.message)
    return of_endpoints(seen) or ACCEPTED.true("Accepted", "The Service can be reached as it asks")


def with_undeleted(accepted: Condition, answers: Answers) -> Condition:
    """An endpoint that is not wanted any more may still be reached: shown here, though the address is not affected."""
    if accepted.status != "True" or not answers.undeleted:
        return accepted
    return ACCEPTED.false("EndpointRefused", answers.undeleted[0].message)


def of_endpoints(seen: Seen) -> Condition | None:
    """What the edge refuses is shown on the user's object."""
    for child in seen.endpoints:
        policy = condition_of(child, "TrafficPolicyApplied")
        if policy is not None and policy.status == "False":
            return ACCEPTED.false("TrafficPolicyError", policy.message)
        if created := refusal(child):
            return ACCEPTED.false("EndpointRefused", created.message)
        if refused(child):  # of an earlier generation: that stands until it is taken back
            return ACCEPTED.false("EndpointRefused", IN_USE)
    return None


def refusal(child: Endpoint) -> Condition | None:
    """The condition by which an endpoint is refused as it is now. That no agent holds it any more is not a refusal."""
    for created in (condition_of(child, name) for name in CREATED):
        if created is not None and created.status == "False" and created.reason != "NoAgent":
            return created
    return None


def taken(seen: Seen, exposure: Exposure) -> str:
    """The holder's name is shown only within its namespace."""
    assert seen.holder is not None
    near = seen.holder.metadata.namespace == seen.service.metadata.namespace
    holder = f"Service {seen.holder.metadata.name}" if near else "a Service of another namespace"
    return f"{exposure.place} is held by {holder}"


def not_reserved(exposure: Exposure) -> str:
    return f"{exposure.place.hostport} is not reserved in this account: reserve it at the edge first"
