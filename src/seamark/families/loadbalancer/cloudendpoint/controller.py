"""The wiring of CloudEndpoints."""

from __future__ import annotations

from seamark.api.ngrok import CloudEndpoint, NgrokTrafficPolicy
from seamark.api.ngrokingress import Domain
from seamark.core.calls import Results
from seamark.core.controller import Controller
from seamark.core.status import ByManager
from seamark.core.view import View
from seamark.families.loadbalancer.cloudendpoint.reconcile import desire, judge
from seamark.families.loadbalancer.cloudendpoint.state import CONDITIONS, Seen
from seamark.families.loadbalancer.edge import Work
from seamark.families.loadbalancer.endpoints import host_seen, policy_seen
from seamark.families.loadbalancer.hosts import Hosts
from seamark.families.loadbalancer.names import FINALIZER
from seamark.families.loadbalancer.service.state import Options
from seamark.families.loadbalancer.urls import BadUrl, place


def controller(work: Work, hosts: Hosts, options: Options) -> Controller[Seen]:
    def observe(view: View, endpoint: CloudEndpoint, results: Results) -> Seen | None:
        if options.drain and FINALIZER not in (endpoint.metadata.finalizers or ()):
            return None
        return Seen(
            endpoint,
            results,
            mistake(endpoint),
            policy_seen(view, endpoint),
            host_seen(view, hosts, endpoint),
            options.cluster,
            work.timing,
            options.drain,
        )

    return Controller(
        name="cloudendpoints",
        kind=CloudEndpoint,
        reads=(NgrokTrafficPolicy, Domain),
        sources=(hosts.reports,),
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


def mistake(endpoint: CloudEndpoint) -> str:
    """What is wrong with its URL, in words."""
    try:
        found = place(endpoint.spec.url)
    except BadUrl as bad:
        return f"spec.url: {bad}"
    return "" if found.fixed else "spec.url: an endpoint that the edge keeps needs a host"
