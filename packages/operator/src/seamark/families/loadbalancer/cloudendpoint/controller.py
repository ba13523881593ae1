"""The wiring of CloudEndpoints."""

from __future__ import annotations

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.cloudendpoint.reconcile import desire, judge
from seamark.families.loadbalancer.cloudendpoint.state import CONDITIONS, Seen
from seamark.families.loadbalancer.edge import Work
from seamark.families.loadbalancer.endpoints import host_seen, policy_seen
from seamark.families.loadbalancer.hosts import Hosts
from seamark.families.loadbalancer.names import FINALIZER
from seamark.families.loadbalancer.places import Places
from seamark.families.loadbalancer.service.state import Options
from seamark_edge.api.ngrok import CloudEndpoint, NgrokTrafficPolicy
from seamark_edge.claims import foreign
from seamark_edge.urls import BadUrl, place
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller
from seamark_runtime.status import ByManager
from seamark_runtime.view import View


def controller(work: Work, hosts: Hosts, places: Places, options: Options) -> Controller[Seen]:
    def observe(view: View, endpoint: CloudEndpoint, results: Results) -> Seen | None:
        if options.drain and FINALIZER not in (endpoint.metadata.finalizers or ()):
            return None
        return Seen(
            endpoint,
            results,
            mistake(endpoint, options),
            policy_seen(view, endpoint, work.policy_refusal),
            host_seen(view, hosts, endpoint),
            options.cluster,
            work.timing,
            options.drain,
            places.taken(view, endpoint),
        )

    return Controller(
        name="cloudendpoints",
        kind=CloudEndpoint,
        reads=(NgrokTrafficPolicy, Domain),
        sources=(hosts.reports, *places.sources),
        observe=observe,
        desire=desire,
        judge=judge,
        status=ByManager(
            manager="seamark-cloudendpoints", conditions=CONDITIONS, fields=("id", "assigned_url", "domain_ref")
        ),
        finalizer=FINALIZER,
        perform=work.perform,
        shelf_life=work.timing.shelf_life,
        linger=work.timing.linger,
    )


def mistake(endpoint: CloudEndpoint, options: Options) -> str:
    """What is wrong with its URL, in words."""
    try:
        found = place(endpoint.spec.url)
    except BadUrl as bad:
        return f"spec.url: {bad}"
    if not found.fixed:
        return "spec.url: an endpoint that the edge keeps needs a host"
    return foreign(endpoint, any_binding=options.cross_namespace_bindings)
