"""AgentEndpoint → what the edge reports about it. Agents watch the object themselves; nothing is created here."""

from __future__ import annotations

from seamark.families.loadbalancer.agentendpoint.references import awaited
from seamark.families.loadbalancer.agentendpoint.state import CREATED, READY, Seen
from seamark.families.loadbalancer.model.conditions import is_true
from seamark.families.loadbalancer.model.endpoints import POLICY_APPLIED, domain_ready
from seamark.families.loadbalancer.model.policies import same, text
from seamark.families.loadbalancer.model.upstreams import upstream_as
from seamark_edge import forwards
from seamark_edge.api.ngrok import AgentEndpointStatus
from seamark_edge.claims import IN_USE, TAKEN, refused
from seamark_edge.forwards import NOT_ALLOWED
from seamark_edge.model import UNUSABLE, Endpoint, RefusedEndpoint, is_policy_error
from seamark_edge.urls import readable
from seamark_runtime.api.meta import Condition
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted


def desire(seen: Seen) -> Wanted:
    """An endpoint that agents hold has its upstream dialled."""
    held = bool(current(seen)) and not (seen.mistake or seen.forward) and seen.edge.known
    return Wanted(calls=(seen.dials,)) if held and seen.dials is not None else Wanted()


def judge(seen: Seen, _answers: Answers) -> AgentEndpointStatus:
    created, policy, domain = created_as(seen), policy_as(seen), domain_ready(seen.host)
    reachable = upstream_as(created, seen.results.to(seen.dials) if seen.dials is not None else None)
    ready = READY.worst_of(domain, policy, created, reachable, otherwise=("EndpointActive", "The endpoint is active"))
    return AgentEndpointStatus(
        conditions=(created, policy, domain, reachable, ready),
        assigned_url=assigned(seen),
        traffic_policy=seen.policy.name,
        domain_ref=seen.host.ref,
    )


def assigned(seen: Seen) -> str:
    """Where it is reached. An endpoint that names its place keeps it while no agent is there: it is its claim on it."""
    if seen.taken or seen.host.refused:
        return ""
    before = seen.endpoint.status.assigned_url if seen.endpoint.status is not None else ""
    if seen.taken is None or not seen.edge.known:
        return before
    if held := seen.edge.agents.held:
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
    return [endpoint for endpoint in seen.edge.agents.held if endpoint.generation in (0, generation)]


def refusal(seen: Seen) -> RefusedEndpoint | None:
    """Why an agent does not hold the current generation: its own problem with it, else the edge's refusal."""
    generation = seen.endpoint.metadata.generation
    found = [refused for refused in seen.edge.agents.refused if refused.generation in (0, generation)]
    return next((refused for refused in found if refused.code == UNUSABLE), next(iter(found), None))


def created_as(seen: Seen) -> Condition:  # noqa: PLR0911  one row per answer
    if seen.taken:
        return CREATED.false(TAKEN, IN_USE)
    if seen.mistake:
        return CREATED.false("ConfigurationError", seen.mistake)
    if seen.forward:
        return CREATED.false(NOT_ALLOWED, seen.forward)
    if seen.taken is None:
        return CREATED.not_yet("Pending", "It is not known yet whether the URL is free")
    poll = seen.edge.poll
    at_once = refused(seen.endpoint) or forwards.refused(seen.endpoint)  # a refusal that is over does not stand
    waiting = CREATED.unknown if at_once else CREATED.not_yet
    if poll is None:
        return waiting("Pending", "The edge has not answered yet")
    if not poll.answered:
        return CREATED.unverified("The edge has not shown who holds the endpoint", poll.error, at_once=at_once)
    if current(seen):
        return CREATED.true("EndpointCreated", "The endpoint is held by agents")
    if refused_now := refusal(seen):
        if refused_now.code == UNUSABLE:
            return CREATED.false("NoAgent", f"Agents can't hold the endpoint: {refused_now.message}")
        if seen.host.reserved:
            return CREATED.false("NgrokAPIError", refused_now.message)
        return waiting("Pending", "The edge has not confirmed the host of the endpoint")
    if is_true(seen.endpoint, CREATED.name):
        return CREATED.false("NoAgent", f"No agent holds the endpoint any more{awaited(seen.endpoint)}")
    return waiting("Pending", f"No agent holds the endpoint yet{awaited(seen.endpoint)}")


def policy_as(seen: Seen) -> Condition:
    policy, poll, holders = seen.policy, seen.edge.poll, current(seen)
    if policy.error:
        return POLICY_APPLIED.false("TrafficPolicyError", policy.error)
    if poll is not None and not poll.answered:
        return POLICY_APPLIED.unverified("The edge has not shown the policy of the endpoint", poll.error)
    refused_now = refusal(seen)
    if not holders and refused_now is not None and is_policy_error(refused_now.code):
        return POLICY_APPLIED.false("TrafficPolicyError", refused_now.message)
    wanted = text(policy.document)
    if poll is None or not holders or not all(same(endpoint.policy, wanted) for endpoint in holders):
        return POLICY_APPLIED.not_yet("Pending", "No agent holds the endpoint with this policy yet")
    return POLICY_APPLIED.true(
        "TrafficPolicyApplied", "The policy is in force" if policy.document else "There is no policy"
    )
