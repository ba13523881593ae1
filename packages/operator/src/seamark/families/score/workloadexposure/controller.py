"""The controller of WorkloadExposures: what it observes, and its declaration."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar

from seamark.api.dns import DNSEndpoint
from seamark.api.score import WorkloadExposure, WorkloadPlan
from seamark.families.score.model.dependencies import Dependencies
from seamark.families.score.model.options import Options
from seamark.families.score.model.planvalues import NOTHING, PlanValues, Unfit, read
from seamark.families.score.model.runtime import LABELLED, MANAGER, RUNTIME_CLASS, STATUS_POLICY, WORKLOAD_LABEL
from seamark.families.score.workloadexposure.names import hosts
from seamark.families.score.workloadexposure.places import backend_key, leads_to, places
from seamark.families.score.workloadexposure.reconcile import desire, judge
from seamark.families.score.workloadexposure.state import CONDITIONS, Seen
from seamark.gatewayapi.listeners import ParentKey
from seamark.gatewayapi.parents import gateway_of, parent_key
from seamark_runtime.api.apps import Deployment, StatefulSet
from seamark_runtime.api.core import Pod, Service
from seamark_runtime.api.gateway import Gateway, HTTPRoute, ListenerSet, ReferenceGrant
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.api.networking import Ingress
from seamark_runtime.cache import Index
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Declaration, Reads, Writes
from seamark_runtime.grants import GRANTS, Referrer, allows
from seamark_runtime.ownership import MANAGED_BY
from seamark_runtime.status import ByManager
from seamark_runtime.view import View

MAY_BE_MISSING: tuple[type[Object], ...] = (HTTPRoute, Gateway, ListenerSet, ReferenceGrant, DNSEndpoint)
GATEWAY_NAME = "gateway.networking.k8s.io/gateway-name"  # on what is created for a Gateway by its controller
GATEWAY_NAMESPACE = "gateway.networking.k8s.io/gateway-namespace"
T = TypeVar("T", bound=Object)


# ---- what leads to a Workload, found by what it names and by its own namespace: anybody can name anything


def _selected(service: Service) -> Iterable[Key]:
    name = ((service.spec.selector if service.spec else None) or {}).get(WORKLOAD_LABEL)
    return (Key(service.metadata.namespace, name),) if name else ()


def _before(service: Service) -> Iterable[Hashable]:
    name, namespace = service.label(GATEWAY_NAME), service.label(GATEWAY_NAMESPACE)
    here = service.metadata.namespace
    return ((here, Key(namespace or here, name)),) if name else ()


def _routed(route: HTTPRoute) -> Iterable[Hashable]:
    here = route.metadata.namespace
    return {(here, backend_key(route, backend)) for rule in route.spec.rules for backend in rule.backend_refs}


SERVICES = Index(Service, _selected, "services by the workload they select")
INGRESSES = Index(
    Ingress,
    lambda ingress: (Key(ingress.metadata.namespace, name) for name in leads_to(ingress)),
    "ingresses by the service they lead to",
)
ROUTES = Index(HTTPRoute, _routed, "routes by the service they lead to")
FRONTS = Index(Service, _before, "services by the gateway they are before")
RECORDS = Index(
    DNSEndpoint,
    lambda record: {
        Key(record.metadata.namespace, endpoint.dns_name.rstrip(".")) for endpoint in record.spec.endpoints
    },
    "DNS records of a namespace by name",
)
PODS = Index(
    Pod,
    lambda pod: (Key(pod.metadata.namespace, name),) if (name := pod.label(WORKLOAD_LABEL)) else (),
    "pods by workload",
)


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    return (
        Controller(
            name="score-publisher",
            kind=WorkloadExposure,
            observe=partial(observe, dependencies),
            desire=desire,
            judge=judge,
            perform=dependencies.perform,
            status=ByManager(
                manager=MANAGER,
                conditions=CONDITIONS,
                fields=("exposures", "observed_workload_generation"),
                policy_condition=STATUS_POLICY,
            ),
            reads=Reads(
                kinds=(WorkloadPlan, Deployment, StatefulSet, Service, Ingress, Pod),
                optional=MAY_BE_MISSING,
                scopes=LABELLED,
                indexes=(SERVICES, INGRESSES, ROUTES, FRONTS, RECORDS, PODS, GRANTS),
                sources=(dependencies.rendered,),
            ),
            writes=Writes(manager=MANAGER),
        ),
    )


def observe(dependencies: Dependencies, view: View, exposure: WorkloadExposure, results: Results) -> Seen | None:
    if exposure.deleting or exposure.spec.runtime_class != RUNTIME_CLASS:
        return None
    key, options = exposure.key, dependencies.options
    plan = same_workload(view.intent(WorkloadPlan, key), exposure)
    values = read(plan) if plan is not None else NOTHING
    offers = isinstance(values, Unfit) or bool(values.ports)  # of an unfit plan, what was rendered before stays
    service_key = Key(key.namespace, service_of(view, plan, values))
    service = rendered_of(plan, view.get(Service, service_key)) if offers else None
    routes = tuple(route for route in routes_to(view, service_key) if not route.deleting) if service else ()
    parents = parents_of(view, routes)
    seen = Seen(
        exposure=exposure,
        plan=plan,
        rendered=view.entry(dependencies.rendered, key),
        rollout=rolled_out(view, plan, key, values),
        service=service,
        services=view.by(SERVICES, key) if service else (),
        ingresses=view.by(INGRESSES, service_key) if service else (),
        routes=routes,
        parents=parents,
        fronts={parent.key: fronts(view, parent.key, options) for parent in parents if parent.kind == "Gateway"},
        pods=view.by(PODS, key),
        results=results,
        resolves=options.probes,
        probes=options.probes,
        inside=options.inside,
        pod_network=options.pod_network,
        loopback=options.loopback,
        pace=options.pace,
    )
    named = [Key(key.namespace, host) for host in hosts(places(seen))]
    records = {record.key: record for name in named for record in view.by(RECORDS, name)}
    return replace(seen, records=tuple(records.values()))


def service_of(view: View, plan: WorkloadPlan | None, values: PlanValues | Unfit) -> str:
    """The name of the Service; of an unfit plan that of the Service which was rendered before."""
    if plan is None:
        return ""
    if not isinstance(values, Unfit):
        return values.service_name or plan.metadata.name
    before = [each for each in view.by(SERVICES, plan.key) if rendered_of(plan, each) is not None]
    return before[0].metadata.name if before else plan.metadata.name


def parents_of(view: View, routes: tuple[HTTPRoute, ...]) -> Mapping[ParentKey, Gateway | ListenerSet]:
    """The parents in the status of these routes, with the Gateways of listener sets."""
    found: dict[ParentKey, Gateway | ListenerSet] = {}
    for route in routes:
        for entry in (route.status.parents if route.status else None) or ():
            key = parent_key(entry.parent_ref, route.metadata.namespace)
            if key is None or key in found:
                continue
            parent = view.get(Gateway, key.key) if key.kind == "Gateway" else view.get(ListenerSet, key.key)
            gateway = gateway_of(parent) if parent is not None else None
            if parent is None or gateway is None:
                continue
            found[key] = parent
            if (serving := view.get(Gateway, gateway)) is not None:
                found[ParentKey("Gateway", gateway)] = serving
    return found


def fronts(view: View, gateway: Key, options: Options) -> tuple[Service, ...]:
    """The load balancers before a Gateway. Anybody can label a Service so; of other tenants' namespaces none counts."""
    trusted = dict.fromkeys((gateway.namespace, *options.gateway_namespaces))
    return tuple(service for namespace in trusted for service in view.by(FRONTS, (namespace, gateway)))


def routes_to(view: View, service: Key) -> tuple[HTTPRoute, ...]:
    """The routes to a Service: those of its namespace, and of namespaces that a ReferenceGrant beside it lets in."""
    namespaces = {service.namespace: None}
    group, kind = HTTPRoute.RESOURCE.group, HTTPRoute.RESOURCE.kind
    for grant in view.by(GRANTS, service.namespace):
        for source in grant.spec.from_:
            if allows(grant, Referrer(group, kind, source.namespace), "", "Service", service.name):
                namespaces[source.namespace] = None
    return tuple(route for namespace in namespaces for route in view.by(ROUTES, (namespace, service)))


def rolled_out(
    view: View, plan: WorkloadPlan | None, key: Key, values: PlanValues | Unfit
) -> Deployment | StatefulSet | None:
    stateful = None if isinstance(values, Unfit) else values.stateful  # None: whichever there is
    found = rendered_of(plan, view.get(StatefulSet, key)) if stateful is not False else None
    return found or (rendered_of(plan, view.get(Deployment, key)) if not stateful else None)


def same_workload(plan: WorkloadPlan | None, exposure: WorkloadExposure) -> WorkloadPlan | None:
    """A plan of a deleted Workload of the same name is not about this one."""
    return plan if plan is not None and plan.spec.workload_ref.uid == exposure.spec.workload_ref.uid else None


def rendered_of(plan: WorkloadPlan | None, child: T | None) -> T | None:
    """A foreign object of that name, or one of a deleted namesake's plan, is not what was rendered."""
    if plan is None or child is None or child.label(MANAGED_BY) != MANAGER:
        return None
    owners = {reference.uid for reference in child.metadata.owner_references or ()}
    return child if plan.uid in owners else None
