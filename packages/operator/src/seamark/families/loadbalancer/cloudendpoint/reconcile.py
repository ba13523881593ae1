"""CloudEndpoint → the endpoint at the edge. No client, no clock."""

from __future__ import annotations

from seamark.families.loadbalancer.cloudendpoint.state import CREATED, READY, Close, Open, Seen
from seamark.families.loadbalancer.model.conditions import is_transient, is_true
from seamark.families.loadbalancer.model.endpoints import POLICY_APPLIED, domain_ready
from seamark.families.loadbalancer.model.metadata import for_edge
from seamark.families.loadbalancer.model.names import FINALIZER, owner_of
from seamark.families.loadbalancer.model.policies import text
from seamark_edge.api.ngrok import CloudEndpointStatus
from seamark_edge.claims import IN_USE, TAKEN, refused
from seamark_edge.model import Endpoint, EndpointSpec, is_policy_error
from seamark_runtime.api.meta import Condition
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Call, Failed
from seamark_runtime.controller import Wanted
from seamark_runtime.errors import Refused
from seamark_runtime.source import Fresh, NotYet, Stale


def desire(seen: Seen) -> Wanted:
    ours = FINALIZER in (seen.endpoint.metadata.finalizers or ())
    if seen.options.drain == "Retain" and ours:
        return Wanted()
    if seen.endpoint.deleting or seen.options.drain or seen.taken:
        closed = isinstance(seen.results.to(close(seen)), Fresh)
        return Wanted(calls=(close(seen),), finalizer=not closed) if ours else Wanted()
    if not may_open(seen):
        return Wanted(finalizer=ours)  # what is there, with its last good policy, stays
    return Wanted(calls=(opened(seen),), finalizer=True)


def may_open(seen: Seen) -> bool:
    """Nothing is opened before its place is known to be free, its policy is known and its host reserved."""
    return seen.taken is False and not seen.mistake and seen.policy.known and seen.host.reserved


def judge(seen: Seen, _answers: Answers) -> CloudEndpointStatus:
    found, created = created_as(seen)
    policy, domain = policy_as(seen, created), domain_ready(seen.host)
    ready = READY.worst_of(domain, policy, created, otherwise=("CloudEndpointActive", "The endpoint is active"))
    conditions = (created, policy, domain, ready)
    before = seen.endpoint.status
    refused_there = seen.mistake or seen.taken or seen.host.refused
    if found is None and before is not None and not refused_there:  # the last that is known of it
        return CloudEndpointStatus(
            conditions=conditions, id=before.id, assigned_url=before.assigned_url, domain_ref=seen.host.ref
        )
    return CloudEndpointStatus(
        conditions=conditions,
        id=found.id if found else "",
        assigned_url=found.url if found else "",
        domain_ref=seen.host.ref,
    )


def created_as(seen: Seen) -> tuple[Endpoint | None, Condition]:  # noqa: PLR0911  one row per answer
    """The endpoint as the edge has it, and its condition."""
    if seen.endpoint.deleting or seen.options.drain:
        return None, closing(seen)
    if seen.taken:
        return None, CREATED.false(TAKEN, IN_USE)
    if seen.mistake:
        return None, CREATED.false("ConfigurationError", seen.mistake)
    free = seen.taken is False and refused(seen.endpoint)
    waiting = CREATED.unknown if free else CREATED.not_yet  # a refusal that is over does not stand
    if not may_open(seen):
        return None, waiting("Pending", waits_for(seen))
    match seen.results.to(opened(seen)):
        case Fresh(value=found):
            return found, CREATED.true("CloudEndpointCreated", "The edge has the endpoint")
        case Stale(value=found):
            return found, CREATED.unknown("NotVerified", "The edge has not confirmed the endpoint for a while")
        case Failed() as failed if is_transient(failed):
            known = is_true(seen.endpoint, CREATED.name)
            if known:
                return None, CREATED.unknown("NotVerified", failed.message)
            return None, waiting("Pending", failed.message)
        case Failed(message=message):
            return None, CREATED.false("CloudEndpointCreationFailed", message)
        case NotYet():
            return None, waiting("Pending", "The edge has not answered yet")


def waits_for(seen: Seen) -> str:
    if seen.taken is None:
        return "It is not known yet whether the URL is free"
    return "Waiting for the policy" if not seen.policy.known else "Waiting for the domain"


def closing(seen: Seen) -> Condition:
    match seen.results.to(close(seen)):
        case Failed(message=message):
            return CREATED.unknown("Closing", f"The edge does not close it: {message}")
        case _:
            return CREATED.unknown("Closing", "The edge is asked to close the endpoint")


def policy_as(seen: Seen, created: Condition) -> Condition:
    if seen.policy.error:
        return POLICY_APPLIED.false("TrafficPolicyError", seen.policy.error)
    if created.status == "True":
        message = "The policy is in force" if seen.policy.document else "There is no policy"
        return POLICY_APPLIED.true("TrafficPolicyApplied", message)
    if not seen.endpoint.deleting and not seen.options.drain and may_open(seen):
        match seen.results.to(opened(seen)):
            case Failed(error=Refused() as refusal, message=message) if is_policy_error(refusal.reason):
                return POLICY_APPLIED.false("TrafficPolicyError", message)
    if created.status == "False":
        return POLICY_APPLIED.unknown("Pending", "The edge has no such endpoint")
    return POLICY_APPLIED.not_yet("Pending", "The edge has not answered yet")


def opened(seen: Seen) -> Call[Endpoint]:
    spec = seen.endpoint.spec
    wanted = EndpointSpec(
        url=spec.url,
        policy=text(seen.policy.document),
        bindings=tuple(spec.bindings or ()),
        pooling=spec.pooling_enabled,
        description=spec.description,
        metadata=for_edge(spec.metadata),
    )
    return Call(
        target=f"endpoint/{seen.endpoint.uid}",
        action=Open(owner_of(seen.endpoint, seen.options.cluster), wanted),
        every=seen.options.timing.verify,
        shelf_life=seen.options.timing.shelf_life,
    )


def close(seen: Seen) -> Call[None]:
    return Call(target=f"endpoint/{seen.endpoint.uid}", action=Close(owner_of(seen.endpoint, seen.options.cluster)))
