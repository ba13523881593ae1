"""CloudEndpoint → the endpoint at the edge. No client, no clock."""

from __future__ import annotations

from seamark.families.loadbalancer.cloudendpoint.state import CREATED, READY, Close, Open, Seen
from seamark.families.loadbalancer.model.conditions import edge_as, is_refusal
from seamark.families.loadbalancer.model.endpoints import POLICY_APPLIED, domain_ready
from seamark.families.loadbalancer.model.metadata import for_edge
from seamark.families.loadbalancer.model.names import FINALIZER, owner_of
from seamark.families.loadbalancer.model.policies import text
from seamark.families.loadbalancer.model.upstreams import Dial, dial, no_upstream, upstream_as
from seamark_edge import forwards
from seamark_edge.api.ngrok import CloudEndpointStatus
from seamark_edge.claims import IN_USE, TAKEN, refused
from seamark_edge.forwards import NOT_ALLOWED
from seamark_edge.model import Endpoint, EndpointSpec, Upstream, is_policy_error
from seamark_runtime.api.meta import Condition
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Call, Failed
from seamark_runtime.controller import Wanted
from seamark_runtime.errors import Refused
from seamark_runtime.source import Fresh, NotYet, Stale

NOT_CONFIRMED = "The edge has not confirmed the endpoint"
NOT_ANSWERED = "The edge has not answered about the endpoint"


def desire(seen: Seen) -> Wanted:
    ours = FINALIZER in (seen.endpoint.metadata.finalizers or ())
    if seen.options.drain == "Retain" and ours:
        return Wanted()
    if seen.endpoint.deleting or seen.options.drain or seen.taken or seen.forward:
        closed = isinstance(seen.results.to(close(seen)), Fresh)
        return Wanted(calls=(close(seen),), finalizer=not closed) if ours else Wanted()
    if not may_open(seen):
        return Wanted(finalizer=ours)  # what is there, with its last good policy, stays
    dialled = dials(seen)
    return Wanted(calls=(opened(seen), *((dialled,) if dialled is not None else ())), finalizer=True)


def may_open(seen: Seen) -> bool:
    """Nothing is opened before its place is known to be free, its policy is known and its host reserved."""
    return seen.taken is False and not seen.forward and not seen.mistake and seen.policy.known and seen.host.reserved


def judge(seen: Seen, _answers: Answers) -> CloudEndpointStatus:
    found, created = created_as(seen)
    policy, domain = policy_as(seen, created), domain_ready(seen.host)
    reachable = upstream_of(seen, created)
    otherwise = ("CloudEndpointActive", "The endpoint is active")
    ready = READY.worst_of(domain, policy, created, reachable, *edge_as(seen.reachable), otherwise=otherwise)
    conditions = (created, policy, domain, reachable, ready)
    before = seen.endpoint.status
    refused_there = seen.mistake or seen.taken or seen.forward or seen.host.refused
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


def upstream_of(seen: Seen, created: Condition) -> Condition:
    if not seen.forwards:
        return no_upstream(created)
    dialled = dials(seen)
    if dialled is None and seen.dials:
        return upstream_as(created, NotYet())
    return upstream_as(created, seen.results.to(dialled) if dialled is not None else None)


def dials(seen: Seen) -> Call[Upstream] | None:
    """The call by which the edge has the upstream of what it keeps dialled."""
    match seen.results.to(opened(seen)):
        case Fresh(value=found) if seen.dials:
            return dial(seen.options.timing, Dial(seen.endpoint.uid, ident=found.id))
    return None


def created_as(seen: Seen) -> tuple[Endpoint | None, Condition]:  # noqa: PLR0911  one row per answer
    """The endpoint as the edge has it, and its condition."""
    if seen.endpoint.deleting or seen.options.drain:
        return None, closing(seen)
    if seen.taken:
        return None, CREATED.false(TAKEN, IN_USE)
    if seen.mistake:
        return None, CREATED.false("ConfigurationError", seen.mistake)
    if seen.forward:
        return None, CREATED.false(NOT_ALLOWED, seen.forward)
    free = seen.taken is False and (refused(seen.endpoint) or forwards.refused(seen.endpoint))
    waiting = CREATED.unknown if free else CREATED.not_yet  # a refusal that is over does not stand
    if not may_open(seen):
        return None, waiting("Pending", waits_for(seen))
    match seen.results.to(opened(seen)):
        case Fresh(value=found):
            return found, CREATED.true("CloudEndpointCreated", "The edge has the endpoint")
        case Stale(value=found):
            return found, CREATED.unverified(NOT_CONFIRMED)
        case Failed(message=message) as failed if is_refusal(failed):
            return None, CREATED.false("CloudEndpointCreationFailed", message)
        case Failed(message=message):
            before = seen.endpoint.status
            known = before is not None and before.id
            return None, CREATED.unverified(NOT_CONFIRMED if known else NOT_ANSWERED, message, at_once=free)
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
    if created.reason == CREATED.lasting:
        return POLICY_APPLIED.unverified("The edge has not confirmed the policy")
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
        action=Open(owner_of(seen.endpoint, seen.options.cluster, seen.cluster_uid), wanted),
        every=seen.options.timing.verify,
        shelf_life=seen.options.timing.shelf_life,
    )


def close(seen: Seen) -> Call[None]:
    return Call(target=f"endpoint/{seen.endpoint.uid}", action=Close(owner_of(seen.endpoint, seen.options.cluster)))
