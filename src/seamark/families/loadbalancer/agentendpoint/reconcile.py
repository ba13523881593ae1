"""AgentEndpoint → what the edge says of it. Agents follow the object themselves; nothing is made here."""

from __future__ import annotations

from seamark.api.meta import Condition
from seamark.api.ngrok import AgentEndpointStatus
from seamark.core.apply import Answers
from seamark.core.controller import Wanted
from seamark.families.loadbalancer.agentendpoint.state import CREATED, READY, Seen
from seamark.families.loadbalancer.endpoints import POLICY_APPLIED, domain_ready
from seamark.families.loadbalancer.policies import same, text
from seamark.families.loadbalancer.said import was_true
from seamark.providers.edge.model import Endpoint


def desire(_seen: Seen) -> Wanted:
    return Wanted()


def judge(seen: Seen, _answers: Answers) -> AgentEndpointStatus:
    created, policy, domain = created_as(seen), policy_as(seen), domain_ready(seen.host)
    ready = READY.worst_of(domain, policy, created, otherwise=("EndpointActive", "The endpoint is active"))
    before = seen.endpoint.status
    held = seen.scene.told.holders
    standing = before.assigned_url if before is not None else ""
    return AgentEndpointStatus(
        conditions=(created, policy, domain, ready),
        assigned_url=(held[0].url if held else "") if seen.scene.known else standing,
        traffic_policy=seen.policy.name,
        domain_ref=seen.host.ref,
    )


def current(seen: Seen) -> list[Endpoint]:
    """Those that hold it as it is now. Agents that don't say which generation they hold are taken by their word."""
    generation = seen.endpoint.metadata.generation
    return [one for one in seen.scene.told.holders if one.generation in (0, generation)]


def refusal(seen: Seen) -> str:
    """Why an agent does not get it as it is now, in the edge's words."""
    generation = seen.endpoint.metadata.generation
    return next((one.message for one in seen.scene.told.refused if one.generation in (0, generation)), "")


def created_as(seen: Seen) -> Condition:  # noqa: PLR0911  one row per answer
    if seen.mistake:
        return CREATED.false("ConfigurationError", seen.mistake)
    looked = seen.scene.looked
    if looked is None:
        return CREATED.not_yet("Pending", "The edge has not answered yet")
    if looked.trouble:
        return CREATED.unknown("NgrokAPIError", looked.trouble)
    if current(seen):
        return CREATED.true("EndpointCreated", "The endpoint is held by agents")
    if words := refusal(seen):
        if seen.host.reserved:
            return CREATED.false("NgrokAPIError", words)
        return CREATED.not_yet("Pending", "The host is not reserved yet")
    if was_true(seen.endpoint, CREATED.name):
        return CREATED.false("NoAgent", "No agent holds the endpoint any more")
    return CREATED.not_yet("Pending", "No agent holds the endpoint yet")


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
