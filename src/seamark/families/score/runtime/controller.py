"""The wiring of the Kubernetes runtime: a group that renders plans, a controller that publishes about exposures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from seamark.api.apps import Deployment, PersistentVolumeClaim, StatefulSet
from seamark.api.core import ConfigMap, Pod, Service
from seamark.api.dns import DNSEndpoint
from seamark.api.gateway import Gateway, HTTPRoute
from seamark.api.meta import Key, Object
from seamark.api.networking import Ingress
from seamark.api.score import WorkloadExposure, WorkloadPlan
from seamark.core.apply import Answers
from seamark.core.cache import Index
from seamark.core.calls import Results
from seamark.core.controller import Controller, Group, Wanted, guarded
from seamark.core.ownership import MANAGED_BY, ByLabels
from seamark.core.rivals import Rivals
from seamark.core.scope import Scope
from seamark.core.source import Reports
from seamark.core.status import ByManager
from seamark.core.view import View
from seamark.core.waker import Declaration
from seamark.families.score.ownership import OURS, PART_OF
from seamark.families.score.runtime import publish
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

CHILDREN: tuple[type[Object], ...] = (
    *(Deployment, StatefulSet, Service, ConfigMap, PersistentVolumeClaim),
    HTTPRoute,
)
MAY_BE_MISSING: tuple[type[Object], ...] = (HTTPRoute, Gateway, DNSEndpoint)
LABELLED: Mapping[type[Object], Scope] = dict.fromkeys(
    (Deployment, StatefulSet, ConfigMap, PersistentVolumeClaim, Pod), Scope.labelled(PART_OF)
)
GATEWAY_NAME = "gateway.networking.k8s.io/gateway-name"  # on what is made for a Gateway, by whoever serves it
GATEWAY_NAMESPACE = "gateway.networking.k8s.io/gateway-namespace"
T = TypeVar("T", bound=Object)
Attempt = Callable[[Probe | Lookup], Awaitable[bool]]


@dataclass(frozen=True)
class Options:
    """What the runtime can find out from where it runs.

    - `attempt` looks names up and tries endpoints; None: nothing is ever tried.
    - `inside`: cluster-local endpoints can be tried, too. `pace`: how often.
    """

    attempt: Attempt | None = attempt
    inside: bool = False
    pace: Pace = field(default_factory=Pace)


# ---- what leads to a Workload, found by what it names


def _selected(service: Service) -> Iterable[Key]:
    name = ((service.spec.selector if service.spec else None) or {}).get(WORKLOAD_LABEL)
    return (Key(service.metadata.namespace, name),) if name else ()


def _before(service: Service) -> Iterable[Key]:
    name, namespace = service.label(GATEWAY_NAME), service.label(GATEWAY_NAMESPACE)
    return (Key(namespace or service.metadata.namespace, name),) if name else ()


def _routed(route: HTTPRoute) -> Iterable[Key]:
    return {backend_key(route, backend) for rule in route.spec.rules for backend in rule.backend_refs}


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
    lambda record: {one.dns_name.rstrip(".") for one in record.spec.endpoints},
    "DNS records by name",
)
PODS = Index(
    Pod,
    lambda pod: (Key(pod.metadata.namespace, name),) if (name := pod.label(WORKLOAD_LABEL)) else (),
    "pods by workload",
)


def controllers(options: Options | None = None) -> tuple[Declaration, ...]:
    chosen = options or Options()
    rendered: Reports[Rendered] = Reports("rendered plans")
    return guarded(Rivals("runtimeClass", RUNTIME_CLASS, OURS), renderer(rendered), publisher(chosen, rendered))


def renderer(rendered: Reports[Rendered]) -> Group[WorkloadPlan]:
    def observe(view: View, key: Key, _results: Results) -> WorkloadPlan | None:
        plan = view.intent(WorkloadPlan, key)
        return None if plan is None or plan.deleting else plan

    def desire(plan: WorkloadPlan) -> Wanted:
        return Wanted(children=render(plan)) if plan.spec.runtime_class == RUNTIME_CLASS else Wanted()

    def report(plan: WorkloadPlan, answers: Answers) -> Mapping[Hashable, Any]:
        refused = {role: refusal.message for role, refusal in answers.refusals.items()}
        return {plan.key: Rendered(plan.spec.observed_workload_generation, refused)}

    return Group(
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


def publisher(options: Options, rendered: Reports[Rendered]) -> Controller[Published]:
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
        indexes=(SERVICES, INGRESSES, ROUTES, FRONTS, RECORDS, PODS),
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
    view: View, exposure: WorkloadExposure, results: Results, rendered: Reports[Rendered], options: Options
) -> Published:
    key = exposure.key
    plan = same_workload(view.intent(WorkloadPlan, key), exposure)
    values = (plan.spec.resolved_values if plan else None) or {}
    stateful = values.get("kind") == "StatefulSet"
    service = rendered_of(plan, view.get(Service, key)) if values.get("ports") else None
    routes = tuple(one for one in view.by(ROUTES, key) if not one.deleting) if service else ()
    parents = [gateway_key(route, one) for route in routes for one in (route.status and route.status.parents) or ()]
    found = {one: view.get(Gateway, one) for one in dict.fromkeys(parents)}
    seen = Published(
        exposure=exposure,
        plan=plan,
        rendered=next(iter(view.reports(rendered, key).values()), None),
        rollout=rendered_of(plan, view.get(StatefulSet, key))
        if stateful
        else rendered_of(plan, view.get(Deployment, key)),
        service=service,
        services=view.by(SERVICES, key) if service else (),
        ingresses=view.by(INGRESSES, key) if service else (),
        routes=routes,
        gateways={one: gateway for one, gateway in found.items() if gateway is not None},
        fronts={one: view.by(FRONTS, one) for one in found},
        pods=view.by(PODS, key),
        results=results,
        resolves=options.attempt is not None,
        probes=options.attempt is not None,
        inside=options.inside,
        pace=options.pace,
    )
    records = {record.key: record for host in hosts(places(seen)) for record in view.by(RECORDS, host)}
    return replace(seen, records=tuple(records.values()))


def same_workload(plan: WorkloadPlan | None, exposure: WorkloadExposure) -> WorkloadPlan | None:
    """A plan of a Workload that is gone, under the same name, says nothing about this one."""
    return plan if plan is not None and plan.spec.workload_ref.uid == exposure.spec.workload_ref.uid else None


def rendered_of(plan: WorkloadPlan | None, child: T | None) -> T | None:
    """What somebody else has under that name, or what is left of a namesake's plan, is not what was rendered."""
    if plan is None or child is None or child.label(MANAGED_BY) != MANAGER:
        return None
    owners = {reference.uid for reference in child.metadata.owner_references or ()}
    return child if plan.uid in owners else None
