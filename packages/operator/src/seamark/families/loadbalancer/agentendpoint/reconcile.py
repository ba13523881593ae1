"""AgentEndpoint → what the edge says of it. Agents follow the object themselves; nothing is made here."""

from __future__ import annotations

from seamark.families.loadbalancer.agentendpoint.references import awaited
from seamark.families.loadbalancer.agentendpoint.state import CREATED, READY, Seen
from seamark.families.loadbalancer.endpoints import POLICY_APPLIED, domain_ready
from seamark.families.loadbalancer.policies import same, text
from seamark.families.loadbalancer.said import was_true
from seamark_edge.api.ngrok import AgentEndpointStatus
from seamark_edge.claims import IN_USE, TAKEN, refused
from seamark_edge.model import Endpoint
from seamark_edge.urls import readable
from seamark_runtime.api.meta import Condition
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted


def desire(_seen: Seen) -> Wanted:
    return Wanted()


def judge(seen: Seen, _answers: Answers) -> AgentEndpointStatus:
    created, policy, domain = created_as(seen), policy_as(seen), domain_ready(seen.host)
    ready = READY.worst_of(domain, policy, created, otherwise=("EndpointActive", "The endpoint is active"))
    return AgentEndpointStatus(
        conditions=(created, policy, domain, ready),
        assigned_url=assigned(seen),
        traffic_policy=seen.policy.name,
        domain_ref=seen.host.ref,
    )


def assigned(seen: Seen) -> str:
    """Where it is reached. An endpoint that names its place keeps it while no agent is there: it is its claim on it."""
    if seen.taken or seen.host.refused:
        return ""
    before = seen.endpoint.status.assigned_url if seen.endpoint.status is not None else ""
    if seen.taken is None or not seen.scene.known:
        return before
    if held := seen.scene.told.holders:
        return held[0].url
    named, standing = readable(seen.endpoint.spec.url), readable(before)
    keeps = named is not None and standing is not None and named.fixed and named.owned == standing.owned
    return before if keeps else ""


def current(seen: Seen) -> list[Endpoint]:
    """Those that hold its current generation. Agents that do not report a generation count as current.

    At a place of another namespace, every holder holds another endpoint.
    """
    if seen.taken is not False:
        return []
    generation = seen.endpoint.metadata.generation
    return [one for one in seen.scene.told.holders if one.generation in (0, generation)]


def refusal(seen: Seen) -> str:
    """Why an agent does not get it as it is now, in the edge's words."""
    generation = seen.endpoint.metadata.generation
    return next((one.message for one in seen.scene.told.refused if one.generation in (0, generation)), "")


def created_as(seen: Seen) -> Condition:  # noqa: PLR0911  one row per answer
    if seen.taken:
        return CREATED.false(TAKEN, IN_USE)
    if seen.mistake:
        return CREATED.false("ConfigurationError", seen.mistake)
    if seen.taken is None:
        return CREATED.not_yet("Pending", "It is not known yet whether the URL is free")
    looked = seen.scene.looked
    waiting = CREATED.unknown if refused(seen.endpoint) else CREATED.not_yet  # a refusal that is over does not stand
    if looked is None:
        return waiting("Pending", "The edge has not answered yet")
    if looked.trouble:
        return CREATED.unknown("NgrokAPIError", looked.trouble)
    if current(seen):
        return CREATED.true("EndpointCreated", "The endpoint is held by agents")
    if words := refusal(seen):
        if seen.host.reserved:
            return CREATED.false("NgrokAPIError", words)
        return waiting("Pending", "The host is not reserved yet")
    if was_true(seen.endpoint, CREATED.name):
        return CREATED.false("NoAgent", "No agent holds the endpoint any more")
    return waiting("Pending", f"No agent holds the endpoint yet{awaited(seen.endpoint)}")


def policy_as(seen: Seen) -> Condition:
    policy, looked, holders = seen.policy, seen.scene.looked, current(seen)
    if policy.error:
        return POLICY_APPLIED.false("TrafficPolicyError", policy.error)
    if looked is not None and looked.trouble:
        return POLICY_APPLIED.unknown("Pending", looked.trouble)
    words = refusal(seen)
    if not holders and "policy" in words:
        return POLICY_APPLIED.false("TrafficPolicyError", words)
    wanted = text(policy.document)
    if looked is None or not holders or not all(same(endpoint.policy, wanted) for endpoint in holders):
        return POLICY_APPLIED.not_yet("Pending", "No agent holds the endpoint with this policy yet")
    return POLICY_APPLIED.true(
        "TrafficPolicyApplied", "The policy is in force" if policy.document else "There is no policy"
    )
