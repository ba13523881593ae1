"""CloudEndpoint → the endpoint at the edge. No client, no clock."""

from __future__ import annotations

from seamark.api.meta import Condition
from seamark.api.ngrok import CloudEndpointStatus
from seamark.core.apply import Answers
from seamark.core.calls import Call, Failed
from seamark.core.controller import Wanted
from seamark.core.errors import Refused
from seamark.core.source import Fresh, NotYet, Stale
from seamark.families.loadbalancer.cloudendpoint.state import CREATED, READY, Seen
from seamark.families.loadbalancer.edge import Close, Open, owner_of
from seamark.families.loadbalancer.endpoints import POLICY_APPLIED, domain_ready
from seamark.families.loadbalancer.metadata import remote
from seamark.families.loadbalancer.names import FINALIZER
from seamark.families.loadbalancer.policies import text
from seamark.families.loadbalancer.said import passing, was_true
from seamark.providers.edge.model import Endpoint, EndpointSpec


def desire(seen: Seen) -> Wanted:
    ours = FINALIZER in (seen.endpoint.metadata.finalizers or ())
    if seen.drain == "Retain" and ours:
        return Wanted()
    if seen.endpoint.deleting or seen.drain:
        closed = isinstance(seen.results.to(close(seen)), Fresh)
        return Wanted(calls=(close(seen),), finalizer=not closed) if ours else Wanted()
    if not may_open(seen):
        return Wanted(finalizer=ours)  # what is there, with its last good policy, stays
    return Wanted(calls=(opened(seen),), finalizer=True)


def may_open(seen: Seen) -> bool:
    """Nothing is opened before its policy is known and its host reserved."""
    return not seen.mistake and seen.policy.known and seen.host.reserved


def judge(seen: Seen, _answers: Answers) -> CloudEndpointStatus:
    found, created = created_as(seen)
    policy, domain = policy_as(seen, created), domain_ready(seen.host)
    ready = READY.worst_of(domain, policy, created, otherwise=("CloudEndpointActive", "The endpoint is active"))
    conditions = (created, policy, domain, ready)
    before = seen.endpoint.status
    if found is None and before is not None and not seen.mistake:  # the last that is known of it
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
    """The endpoint as the edge has it, and what is said of that."""
    if seen.endpoint.deleting or seen.drain:
        return None, closing(seen)
    if seen.mistake:
        return None, CREATED.false("ConfigurationError", seen.mistake)
    if not may_open(seen):
        return None, CREATED.not_yet("Pending", waits_for(seen))
    match seen.results.to(opened(seen)):
        case Fresh(value=found):
            return found, CREATED.true("CloudEndpointCreated", "The edge has the endpoint")
        case Stale(value=found):
            return found, CREATED.unknown("NotVerified", "The edge has not confirmed the endpoint for a while")
        case Failed() as failed if passing(failed):
            known = was_true(seen.endpoint, CREATED.name)
            say = CREATED.unknown if known else CREATED.not_yet
            return None, say("NotVerified" if known else "Pending", failed.message)
        case Failed(message=message):
            return None, CREATED.false("CloudEndpointCreationFailed", message)
        case NotYet():
            return None, CREATED.not_yet("Pending", "The edge has not answered yet")


def waits_for(seen: Seen) -> str:
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
        words = "The policy is in force" if seen.policy.document else "There is no policy"
        return POLICY_APPLIED.true("TrafficPolicyApplied", words)
    if not seen.endpoint.deleting and not seen.drain and may_open(seen):
        match seen.results.to(opened(seen)):
            case Failed(error=Refused() as refusal, message=message) if "policy" in refusal.message:
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
        metadata=remote(spec.metadata),
    )
    return Call(
        target=f"endpoint/{seen.endpoint.uid}",
        action=Open(owner_of(seen.endpoint, seen.cluster), wanted),
        every=seen.timing.verify,
        shelf_life=seen.timing.shelf_life,
    )


def close(seen: Seen) -> Call[None]:
    return Call(target=f"endpoint/{seen.endpoint.uid}", action=Close(owner_of(seen.endpoint, seen.cluster)))
