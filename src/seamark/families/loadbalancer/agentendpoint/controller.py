"""The wiring of AgentEndpoints."""

from __future__ import annotations

from urllib.parse import urlsplit

from seamark.api.ngrok import AgentEndpoint, NgrokTrafficPolicy
from seamark.api.ngrokingress import Domain
from seamark.core.calls import Results
from seamark.core.controller import Controller
from seamark.core.reach import forbidden
from seamark.core.status import ByManager
from seamark.core.view import View
from seamark.families.loadbalancer.agentendpoint.reconcile import desire, judge
from seamark.families.loadbalancer.agentendpoint.state import CONDITIONS, Seen
from seamark.families.loadbalancer.edge import Timing
from seamark.families.loadbalancer.endpoints import host_seen, policy_seen
from seamark.families.loadbalancer.hosts import Hosts
from seamark.families.loadbalancer.sight import Sight
from seamark.families.loadbalancer.urls import BadUrl, place, upstream


def controller(sight: Sight, hosts: Hosts, timing: Timing) -> Controller[Seen]:
    def observe(view: View, endpoint: AgentEndpoint, _results: Results) -> Seen | None:
        if endpoint.deleting:
            return None
        return Seen(
            endpoint,
            mistake(endpoint),
            policy_seen(view, endpoint),
            host_seen(view, hosts, endpoint),
            sight.of(view, endpoint),
        )

    return Controller(
        name="agentendpoints",
        kind=AgentEndpoint,
        reads=(NgrokTrafficPolicy, Domain),
        sources=(sight.reports, hosts.reports),
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


def mistake(endpoint: AgentEndpoint) -> str:
    """What is wrong with its URLs, in words."""
    try:
        place(endpoint.spec.url)
    except BadUrl as bad:
        return f"spec.url: {bad}"
    try:
        upstream(endpoint.spec.upstream.url)
    except BadUrl as bad:
        return f"spec.upstream.url: {bad}"
    host = upstream_host(endpoint.spec.upstream.url)
    trouble = forbidden(host)
    return f"spec.upstream.url: {host} is {trouble}" if trouble else ""


def upstream_host(url: str) -> str:
    """A port alone is one of the agent's own."""
    return "localhost" if url.isdecimal() else urlsplit(url if "://" in url else f"tcp://{url}").hostname or ""
