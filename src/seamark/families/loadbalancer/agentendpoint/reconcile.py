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


def desire(_seen: Seen) -> Wanted:
    return Wanted()


def judge(seen: Seen, _answers: Answers) -> AgentEndpointStatus:
    created, policy, domain = created_as(seen), policy_as(seen), domain_ready(seen.host)
    ready = READY.worst_of(domain, policy, created, otherwise=("EndpointActive", "The endpoint is active"))
    before = seen.endpoint.status
    held = seen.scene.holders
    known = seen.scene.looked is not None and not seen.scene.looked.trouble
    standing = before.assigned_url if before is not None else ""
    return AgentEndpointStatus(
        conditions=(created, policy, domain, ready),
        assigned_url=(held[0].url if held else "") if known else standing,
        traffic_policy=seen.policy.name,
        domain_ref=seen.host.ref,
    )


def created_as(seen: Seen) -> Condition:
    if seen.mistake:
        return CREATED.false("ConfigurationError", seen.mistake)
    looked, holders = seen.scene.looked, seen.scene.holders
    if looked is None:
        return CREATED.not_yet("Pending", "The edge has not answered yet")
    if looked.trouble:
        return CREATED.unknown("NgrokAPIError", looked.trouble)
    if holders:
        return CREATED.true("EndpointCreated", "The endpoint is held by agents")
    if was_true(seen.endpoint, CREATED.name):
        return CREATED.false("NoAgent", "No agent holds the endpoint any more")
    return CREATED.not_yet("Pending", "No agent holds the endpoint yet")


def policy_as(seen: Seen) -> Condition:
    policy = seen.policy
    if policy.error:
        return POLICY_APPLIED.false("TrafficPolicyError", policy.error)
    looked, holders = seen.scene.looked, seen.scene.holders
    if looked is not None and looked.trouble:
        return POLICY_APPLIED.unknown("Pending", looked.trouble)
    if looked is None or not holders:
        return POLICY_APPLIED.not_yet("Pending", "No agent holds the endpoint yet")
    wanted = text(policy.document)
    behind = [endpoint for endpoint in holders if not same(endpoint.policy, wanted)]
    if not behind:
        words = "The policy is in force" if policy.document else "There is no policy"
        return POLICY_APPLIED.true("TrafficPolicyApplied", words)
    if was_true(seen.endpoint, POLICY_APPLIED.name):
        return POLICY_APPLIED.unknown("Pending", "An agent holds the endpoint with another policy")
    return POLICY_APPLIED.not_yet("Pending", "The agents have not taken the policy yet")
