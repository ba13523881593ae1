"""The wiring of the Kubernetes runtime: a group that renders plans, a controller that publishes about exposures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from seamark.api.dns import DNSEndpoint
from seamark.api.score import WorkloadExposure, WorkloadPlan
from seamark.families.score.ownership import PART_OF
from seamark.families.score.runtime import plans, publish
from seamark.families.score.runtime.attempts import attempt
from seamark.families.score.runtime.names import hosts
from seamark.families.score.runtime.places import backend_key, gateway_key, leads_to, places
from seamark.families.score.runtime.render import render
from seamark.families.score.runtime.state import (
    CONDITIONS,
    MANAGER,
    NAMESPACE_LABEL,
    RUNTIME_CLASS,
    WORKLOAD_LABEL,
    Lookup,
    Pace,
    Probe,
    Published,
    Rendered,
)
from seamark.families.score.runtime.values import NOTHING, PlanValues, Unfit, read
from seamark_runtime.api.apps import Deployment, PersistentVolumeClaim, StatefulSet
from seamark_runtime.api.core import ConfigMap, Pod, Service
from seamark_runtime.api.gateway import Gateway, HTTPRoute, ReferenceGrant
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.api.networking import Ingress
from seamark_runtime.apply import Answers
from seamark_runtime.cache import Index
from seamark_runtime.calls import Results
from seamark_runtime.competing import CompetingControllers
from seamark_runtime.controller import CollectionController, Controller, Declaration, Wanted, guarded
from seamark_runtime.grants import GRANTS, Asker, allows
from seamark_runtime.ownership import MANAGED_BY, ByLabels
from seamark_runtime.scope import Scope
from seamark_runtime.source import Collection
from seamark_runtime.status import ByManager
from seamark_runtime.view import View

CHILDREN: tuple[type[Object], ...] = (
    *(Deployment, StatefulSet, Service, ConfigMap, PersistentVolumeClaim),
    HTTPRoute,
)
MAY_BE_MISSING: tuple[type[Object], ...] = (HTTPRoute, Gateway, ReferenceGrant, DNSEndpoint)
LABELLED: Mapping[type[Object], Scope] = dict.fromkeys(
    (Deployment, StatefulSet, ConfigMap, PersistentVolumeClaim, Pod), Scope.labelled(PART_OF)
)
GATEWAY_NAME = "gateway.networking.k8s.io/gateway-name"  # on what is created for a Gateway by its controller
GATEWAY_NAMESPACE = "gateway.networking.k8s.io/gateway-namespace"
T = TypeVar("T", bound=Object)
Attempt = Callable[[Probe | Lookup], Awaitable[bool]]
Planned = tuple[WorkloadPlan, PlanValues | None]  # None: for another runtime


@dataclass(frozen=True)
class Options:
    """What the runtime can find out from where it runs.

    - `attempt` looks names up and tries endpoints; None: nothing is ever tried.
    - `inside`: cluster-local endpoints can be tried, too. `pace`: how often.
    - `gateway_namespaces`: whose Services may stand before Gateways, beside a Gateway's own namespace.
    """

    attempt: Attempt | None = attempt
    inside: bool = False
    pace: Pace = field(default_factory=Pace)
    gateway_namespaces: tuple[str, ...] = ("seamark-system",)


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
    lambda record: {Key(record.metadata.namespace, one.dns_name.rstrip(".")) for one in record.spec.endpoints},
    "DNS records of a namespace by name",
)
PODS = Index(
    Pod,
    lambda pod: (Key(pod.metadata.namespace, name),) if (name := pod.label(WORKLOAD_LABEL)) else (),
    "pods by workload",
)


def controllers(options: Options | None = None) -> tuple[Declaration, ...]:
    chosen = options or Options()
    rendered: Collection[Rendered] = Collection("rendered plans")
    declared = (renderer(rendered), publisher(chosen, rendered), plans.controller())
    return guarded(CompetingControllers("runtimeClass", RUNTIME_CLASS), *declared)


def renderer(rendered: Collection[Rendered]) -> CollectionController[Planned]:
    def observe(view: View, key: Key, _results: Results) -> Planned | None:
        plan = view.intent(WorkloadPlan, key)
        if plan is None or plan.deleting:
            return None
        if plan.spec.runtime_class != RUNTIME_CLASS:
            return plan, None
        values = read(plan)
        return None if isinstance(values, Unfit) else (plan, values)  # what stands for it stays

    def desire(planned: Planned) -> Wanted:
        plan, values = planned
        return Wanted(children=render(plan, values)) if values is not None else Wanted()

    def report(planned: Planned, answers: Answers) -> Mapping[Hashable, Any]:
        plan, _ = planned
        refused = {role: refusal.message for role, refusal in answers.refusals.items()}
        return {plan.key: Rendered(plan.spec.observed_workload_generation, refused)}

    return CollectionController(
        name="score-renderer",
        manager=MANAGER,
        keyed={WorkloadPlan: lambda plan: (plan.key,)},
        children=CHILDREN,
        optional=(HTTPRoute,),
        scopes=LABELLED,
        ownership=ByLabels(MANAGER, WORKLOAD_LABEL, NAMESPACE_LABEL),
        observe=observe,
        desire=desire,
        report=report,
        reports=rendered,
    )


def publisher(options: Options, rendered: Collection[Rendered]) -> Controller[Published]:
    def observe(view: View, exposure: WorkloadExposure, results: Results) -> Published | None:
        if exposure.deleting or exposure.spec.runtime_class != RUNTIME_CLASS:
            return None
        return observed(view, exposure, results, rendered, options)

    return Controller(
        name="score-publisher",
        kind=WorkloadExposure,
        reads=(WorkloadPlan, Deployment, StatefulSet, Service, Ingress, Pod),
        optional=MAY_BE_MISSING,
        scopes=LABELLED,
        manager=MANAGER,
        indexes=(SERVICES, INGRESSES, ROUTES, FRONTS, RECORDS, PODS, GRANTS),
        sources=(rendered,),
        observe=observe,
        desire=publish.desire,
        judge=publish.judge,
        perform=options.attempt,
        status=ByManager(
            manager=MANAGER,
            conditions=CONDITIONS,
            fields=("exposures", "observed_workload_generation"),
            fence=f"object.spec.runtimeClass == '{RUNTIME_CLASS}'",
        ),
    )


def observed(
    view: View, exposure: WorkloadExposure, results: Results, rendered: Collection[Rendered], options: Options
) -> Published:
    key = exposure.key
    plan = same_workload(view.intent(WorkloadPlan, key), exposure)
    values = read(plan) if plan is not None else NOTHING
    offers = isinstance(values, Unfit) or bool(values.ports)  # unfit, what was rendered before still stands
    service = rendered_of(plan, view.get(Service, key)) if offers else None
    routes = tuple(one for one in routes_to(view, key) if not one.deleting) if service else ()
    parents = [gateway_key(route, one) for route in routes for one in (route.status and route.status.parents) or ()]
    found = {one: view.get(Gateway, one) for one in dict.fromkeys(parents)}
    seen = Published(
        exposure=exposure,
        plan=plan,
        rendered=next(iter(view.reports(rendered, key).values()), None),
        rollout=rolled_out(view, plan, key, values),
        service=service,
        services=view.by(SERVICES, key) if service else (),
        ingresses=view.by(INGRESSES, key) if service else (),
        routes=routes,
        gateways={one: gateway for one, gateway in found.items() if gateway is not None},
        fronts={one: fronts(view, one, options) for one in found},
        pods=view.by(PODS, key),
        results=results,
        resolves=options.attempt is not None,
        probes=options.attempt is not None,
        inside=options.inside,
        pace=options.pace,
    )
    named = [Key(key.namespace, host) for host in hosts(places(seen))]
    records = {record.key: record for name in named for record in view.by(RECORDS, name)}
    return replace(seen, records=tuple(records.values()))


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
            if allows(grant, Asker(group, kind, source.namespace), "", "Service", service.name):
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
