"""The controller of Services: what it reads, remembers, creates and calls."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from functools import partial

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.model.clusters import ONLY_OLDEST, cluster_uid
from seamark.families.loadbalancer.model.dependencies import Dependencies
from seamark.families.loadbalancer.model.endpoints import named_policy
from seamark.families.loadbalancer.model.names import FINALIZER, MADE_FROM
from seamark.families.loadbalancer.service.children import first_served
from seamark.families.loadbalancer.service.exposure import Exposure
from seamark.families.loadbalancer.service.holders import Holders, is_ours
from seamark.families.loadbalancer.service.notices import announce
from seamark.families.loadbalancer.service.reconcile import ANNOTATIONS, desire, judge
from seamark.families.loadbalancer.service.state import CONDITIONS, Seen
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint, NgrokTrafficPolicy
from seamark_runtime.api.core import Namespace, Service
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.cache import Index
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Declaration, Reads, Timing, Writes
from seamark_runtime.ownership import ByReference, within
from seamark_runtime.status import ByManager
from seamark_runtime.view import View


def _owners(child: Object) -> Iterable[Hashable]:
    return ByReference().owners(child)


AGENTS = Index(AgentEndpoint, _owners, "agent endpoints of a service")
CLOUDS = Index(CloudEndpoint, _owners, "cloud endpoints of a service")


def observe(
    dependencies: Dependencies, holders: Holders, view: View, service: Service, results: Results
) -> Seen | None:
    options = dependencies.options
    token = within(service, service.uid)
    agents, clouds = view.by(AGENTS, token), view.by(CLOUDS, token)
    if not is_ours(service, options) and not touched(service) and not any(map(made_by_us, (*agents, *clouds))):
        return None
    if options.drain and FINALIZER not in (service.metadata.finalizers or ()):
        return None
    exposure = holders.exposure(service, first_served(service, agents))
    seen = Seen(service, exposure, results, options, agents=agents, clouds=clouds, cluster_uid=cluster_uid(view))
    if not isinstance(exposure, Exposure):
        return seen
    namespace, name = service.metadata.namespace, exposure.policy
    return replace(
        seen,
        policy=named_policy(view, namespace, name, dependencies.policy_refusal) if name else None,
        holder=holders.holder(view, service, exposure),
        domain=domain_of(view, seen) if exposure.place.scheme == "tls" else None,
    )


def touched(service: Service) -> bool:
    """Whether it has any field that we own."""
    types = {condition.name for condition in CONDITIONS}
    written = (service.status.conditions if service.status is not None else None) or ()
    has_status = any(condition.type in types for condition in written)
    return has_status or FINALIZER in (service.metadata.finalizers or ()) or any(map(service.annotation, ANNOTATIONS))


def made_by_us(child: Object) -> bool:
    return bool(child.annotation(MADE_FROM))


def domain_of(view: View, seen: Seen) -> Domain | None:
    """The Domain that the endpoint's own status refers to; that of a CloudEndpoint comes first."""
    for child in seen.endpoints:
        status = child.status
        if status is None or status.domain_ref is None:
            continue
        found = view.get(Domain, Key(child.metadata.namespace, status.domain_ref.name))
        if found is not None:
            return found
    return None


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    options, holders = dependencies.options, Holders(dependencies.options, dependencies.policy_check)
    services = Controller(
        name="services",
        kind=Service,
        observe=partial(observe, dependencies, holders),
        desire=desire,
        judge=judge,
        announce=announce,
        memory=holders,
        status=ByManager(
            manager="seamark-loadbalancer",
            conditions=CONDITIONS,
            fields=("load_balancer",),
            policy_condition=f"object.spec.?loadBalancerClass.orValue('') == '{options.lb_class}'",
        ),
        perform=dependencies.perform,
        reads=Reads(
            kinds=(NgrokTrafficPolicy, Domain, Namespace),
            scopes=ONLY_OLDEST,
            indexes=(holders.claims, AGENTS, CLOUDS),
        ),
        writes=Writes(children=(AgentEndpoint, CloudEndpoint), finalizers=(FINALIZER,), annotations=ANNOTATIONS),
        timing=Timing(shelf_life=options.timing.shelf_life, linger=options.timing.linger),
    )
    return (services,)
