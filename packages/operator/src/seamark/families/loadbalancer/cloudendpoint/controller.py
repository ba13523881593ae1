"""The controller of CloudEndpoints: what it reads and calls."""

from __future__ import annotations

from functools import partial

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.cloudendpoint.reconcile import desire, judge
from seamark.families.loadbalancer.cloudendpoint.state import CONDITIONS, Seen
from seamark.families.loadbalancer.model.clusters import ONLY_OLDEST, cluster_uid
from seamark.families.loadbalancer.model.dependencies import Dependencies
from seamark.families.loadbalancer.model.endpoints import host_seen, policy_seen
from seamark.families.loadbalancer.model.names import FINALIZER
from seamark.families.loadbalancer.model.options import Options
from seamark.families.loadbalancer.model.places import forward_refusal, sources, taken
from seamark.families.loadbalancer.model.policies import forwards
from seamark.families.loadbalancer.model.policychecks import CheckedPolicies
from seamark_edge.api.ngrok import CloudEndpoint, NgrokTrafficPolicy
from seamark_edge.claims import foreign
from seamark_edge.urls import BadUrl, place
from seamark_runtime.api.core import Namespace
from seamark_runtime.api.gateway import ReferenceGrant
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Declaration, Reads, Timing, Writes
from seamark_runtime.grants import GRANTS
from seamark_runtime.status import ByManager
from seamark_runtime.view import View


def observe(
    dependencies: Dependencies, policies: CheckedPolicies, view: View, endpoint: CloudEndpoint, results: Results
) -> Seen | None:
    options = dependencies.options
    if options.drain and FINALIZER not in (endpoint.metadata.finalizers or ()):
        return None
    policy = policy_seen(dependencies.policy_refusal, view, endpoint)
    in_force = policy.document if policy.document is not None else policies.last(endpoint)
    return Seen(
        endpoint,
        results,
        options,
        mistake(endpoint, options),
        policy,
        host_seen(dependencies, view, endpoint),
        forwards(policy.document),
        dependencies.upstream_checks and forwards(policy.document),
        taken(dependencies, view, endpoint),
        forward_refusal(dependencies, view, endpoint, in_force),
        dependencies.reachable,
        cluster_uid(view),
    )


def mistake(endpoint: CloudEndpoint, options: Options) -> str:
    """What is wrong with its URL; "" if nothing."""
    try:
        found = place(endpoint.spec.url)
    except BadUrl as bad:
        return f"spec.url: {bad}"
    if not found.fixed:
        return "spec.url: an endpoint that the edge keeps needs a host"
    return foreign(endpoint, any_binding=options.cross_namespace_bindings)


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    timing = dependencies.options.timing
    policies = CheckedPolicies(policy_seen, dependencies.policy_check)
    cloud_endpoints = Controller(
        name="cloudendpoints",
        kind=CloudEndpoint,
        observe=partial(observe, dependencies, policies),
        desire=desire,
        judge=judge,
        memory=policies,
        status=ByManager(
            manager="seamark-cloudendpoints", conditions=CONDITIONS, fields=("id", "assigned_url", "domain_ref")
        ),
        perform=dependencies.perform,
        reads=Reads(
            kinds=(NgrokTrafficPolicy, Domain, Namespace),
            optional=(ReferenceGrant,),
            indexes=(GRANTS,),
            scopes=ONLY_OLDEST,
            sources=(dependencies.hosts, *sources(dependencies)),
        ),
        writes=Writes(finalizers=(FINALIZER,)),
        timing=Timing(shelf_life=timing.shelf_life, linger=timing.linger),
    )
    return (cloud_endpoints,)
