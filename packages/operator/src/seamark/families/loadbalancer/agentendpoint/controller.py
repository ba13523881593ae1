"""The wiring of AgentEndpoints."""

from __future__ import annotations

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.agentendpoint.reconcile import desire, judge
from seamark.families.loadbalancer.agentendpoint.references import bad_reference
from seamark.families.loadbalancer.agentendpoint.state import CONDITIONS, Seen
from seamark.families.loadbalancer.edge import Timing
from seamark.families.loadbalancer.endpoints import host_seen, policy_seen
from seamark.families.loadbalancer.hosts import Hosts
from seamark.families.loadbalancer.places import Places
from seamark.families.loadbalancer.sight import Sight
from seamark_edge.agent.wanted import asker_of, upstream_host
from seamark_edge.api.ngrok import AgentEndpoint, NgrokTrafficPolicy
from seamark_edge.claims import foreign
from seamark_edge.urls import BadUrl, place, upstream
from seamark_runtime.api.core import Service
from seamark_runtime.api.gateway import ReferenceGrant
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller
from seamark_runtime.grants import GRANTS, granted
from seamark_runtime.reach import forbidden
from seamark_runtime.status import ByManager
from seamark_runtime.upstreams import BadHost, UpstreamRules, destination, refusal
from seamark_runtime.view import View


def controller(sight: Sight, hosts: Hosts, places: Places, timing: Timing, rules: UpstreamRules) -> Controller[Seen]:
    def observe(view: View, endpoint: AgentEndpoint, _results: Results) -> Seen | None:
        if endpoint.deleting:
            return None
        return Seen(
            endpoint,
            mistake(endpoint, rules) or crossing(view, endpoint, rules),
            policy_seen(view, endpoint, sight.policy_refusal),
            host_seen(view, hosts, endpoint),
            sight.of(view, endpoint),
            places.taken(view, endpoint),
        )

    return Controller(
        name="agentendpoints",
        kind=AgentEndpoint,
        reads=(NgrokTrafficPolicy, Domain),
        optional=(ReferenceGrant,),
        indexes=(GRANTS,),
        sources=(sight.reports, hosts.reports, *places.sources),
        observe=observe,
        desire=desire,
        judge=judge,
        status=ByManager(
            manager="seamark-agentendpoints",
            conditions=CONDITIONS,
            fields=("assigned_url", "traffic_policy", "domain_ref"),
        ),
        shelf_life=timing.shelf_life,
        linger=timing.linger,
    )


def mistake(endpoint: AgentEndpoint, rules: UpstreamRules) -> str:
    """What is wrong with its URLs and the names that it refers to, in words."""
    try:
        place(endpoint.spec.url)
    except BadUrl as bad:
        return f"spec.url: {bad}"
    if words := foreign(endpoint, any_binding=rules.cross_namespace_bindings):
        return words
    try:
        upstream(endpoint.spec.upstream.url)
    except BadUrl as bad:
        return f"spec.upstream.url: {bad}"
    host = upstream_host(endpoint.spec.upstream.url)
    trouble = forbidden(host)
    return f"spec.upstream.url: {host} is {trouble}" if trouble else bad_reference(endpoint)


def crossing(view: View, endpoint: AgentEndpoint, rules: UpstreamRules) -> str:
    """Why its upstream may not be what it is, in words; agents hold themselves to the same rules."""
    namespace, asker = endpoint.metadata.namespace, asker_of(endpoint)

    def allowed(other: str, service: str) -> bool:
        return granted(view, asker, "", Service.RESOURCE.kind, Key(other, service))

    try:
        wanted = destination(upstream_host(endpoint.spec.upstream.url), namespace, rules.cluster_domain)
    except BadHost as bad:
        return f"spec.upstream.url: {bad}"
    words = refusal(wanted, namespace, rules, allowed)
    return f"spec.upstream.url: {words}" if words else ""
