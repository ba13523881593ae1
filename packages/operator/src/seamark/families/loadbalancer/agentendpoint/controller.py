"""The controller of AgentEndpoints: what it reads, and what is wrong with an endpoint's URLs."""

from __future__ import annotations

from functools import partial

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.agentendpoint.reconcile import desire, judge
from seamark.families.loadbalancer.agentendpoint.references import bad_reference
from seamark.families.loadbalancer.agentendpoint.state import CONDITIONS, AtEdge, Seen
from seamark.families.loadbalancer.model.dependencies import Dependencies
from seamark.families.loadbalancer.model.endpoints import host_seen, policy_seen
from seamark.families.loadbalancer.model.entries import EDGE, Agents
from seamark.families.loadbalancer.model.places import forward_refusal, sources, taken
from seamark.families.loadbalancer.model.policychecks import CheckedPolicies
from seamark.families.loadbalancer.model.upstreams import Dial, dial
from seamark_edge.api.ngrok import AgentEndpoint, NgrokTrafficPolicy
from seamark_edge.claims import foreign
from seamark_edge.forwards import referrer_of
from seamark_edge.urls import BadUrl, key_of, place, upstream
from seamark_runtime.api.core import Service
from seamark_runtime.api.gateway import ReferenceGrant
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Declaration, Reads, Timing
from seamark_runtime.grants import GRANTS, granted
from seamark_runtime.reach import forbidden
from seamark_runtime.status import ByManager
from seamark_runtime.upstreams import BadHost, UpstreamRules, destination, refusal
from seamark_runtime.view import View


def observe(dependencies: Dependencies, view: View, endpoint: AgentEndpoint, results: Results) -> Seen | None:
    if endpoint.deleting:
        return None
    rules, timing = dependencies.options.upstream_rules, dependencies.options.timing
    dials = dial(timing, Dial(endpoint.uid, key_of(endpoint.spec.url))) if dependencies.upstream_checks else None
    policy = policy_seen(dependencies.policy_refusal, view, endpoint)
    return Seen(
        endpoint,
        mistake(endpoint, rules) or crossing(view, endpoint, rules),
        policy,
        host_seen(dependencies, view, endpoint),
        at_edge(dependencies, view, endpoint),
        results,
        dials,
        taken(dependencies, view, endpoint),
        forward_refusal(dependencies, view, endpoint, policy.document),
    )


def at_edge(dependencies: Dependencies, view: View, endpoint: AgentEndpoint) -> AtEdge:
    poll = view.entry(dependencies.polls, EDGE)
    by_uid = view.entry(dependencies.agents_by_uid, endpoint.uid)
    by_place = view.entry(dependencies.agents_by_place, key_of(endpoint.spec.url))
    return AtEdge(poll, by_uid or by_place or Agents())


def mistake(endpoint: AgentEndpoint, rules: UpstreamRules) -> str:
    """What is wrong with its URLs and the names that it refers to; "" if nothing."""
    try:
        place(endpoint.spec.url)
    except BadUrl as bad:
        return f"spec.url: {bad}"
    if message := foreign(endpoint, any_binding=rules.cross_namespace_bindings):
        return message
    try:
        host = upstream(endpoint.spec.upstream.url).host
    except BadUrl as bad:
        return f"spec.upstream.url: {bad}"
    trouble = forbidden(host)
    return f"spec.upstream.url: {host} is {trouble}" if trouble else bad_reference(endpoint)


def crossing(view: View, endpoint: AgentEndpoint, rules: UpstreamRules) -> str:
    """Why its upstream is not allowed; "" if it is. Agents check the same rules themselves."""
    namespace, referrer = endpoint.metadata.namespace, referrer_of(endpoint)

    def allowed(other: str, service: str) -> bool:
        return granted(view, referrer, "", Service.RESOURCE.kind, Key(other, service))

    try:
        wanted = destination(upstream(endpoint.spec.upstream.url).host, namespace, rules.cluster_domain)
    except (BadUrl, BadHost) as bad:
        return f"spec.upstream.url: {bad}"
    message = refusal(wanted, namespace, rules, allowed)
    return f"spec.upstream.url: {message}" if message else ""


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    timing = dependencies.options.timing
    online = (dependencies.polls, dependencies.agents_by_uid, dependencies.agents_by_place)
    agent_endpoints = Controller(
        name="agentendpoints",
        kind=AgentEndpoint,
        observe=partial(observe, dependencies),
        desire=desire,
        judge=judge,
        memory=CheckedPolicies(policy_seen, dependencies.policy_check),
        status=ByManager(
            manager="seamark-agentendpoints",
            conditions=CONDITIONS,
            fields=("assigned_url", "traffic_policy", "domain_ref"),
        ),
        perform=dependencies.perform,
        reads=Reads(
            kinds=(NgrokTrafficPolicy, Domain),
            optional=(ReferenceGrant,),
            indexes=(GRANTS,),
            sources=(*online, dependencies.hosts, *sources(dependencies)),
        ),
        timing=Timing(shelf_life=timing.shelf_life, linger=timing.linger),
    )
    return (agent_endpoints,)
