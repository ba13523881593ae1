"""The wiring of the Kubernetes runtime: a group that renders plans, a controller that publishes about exposures."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from seamark.api.apps import Deployment, PersistentVolumeClaim, StatefulSet
from seamark.api.core import ConfigMap, Service
from seamark.api.gateway import Gateway, HTTPRoute
from seamark.api.meta import Key, Object
from seamark.api.score import WorkloadExposure, WorkloadPlan
from seamark.core.apply import Answers
from seamark.core.calls import Results
from seamark.core.controller import Controller, Group, Wanted
from seamark.core.ownership import MANAGED_BY, ByLabels
from seamark.core.source import Reports
from seamark.core.status import ByManager
from seamark.core.view import View
from seamark.core.waker import Declaration
from seamark.families.score.runtime import publish
from seamark.families.score.runtime.render import render
from seamark.families.score.runtime.state import (
    CONDITIONS,
    GATEWAY,
    MANAGER,
    NAMESPACE_LABEL,
    RUNTIME_CLASS,
    WORKLOAD_LABEL,
    Probe,
    Published,
    Rendered,
)

CHILDREN: tuple[type[Object], ...] = (Deployment, StatefulSet, Service, ConfigMap, PersistentVolumeClaim)
T = TypeVar("T", bound=Object)
Prober = Callable[[Probe], Awaitable[bool]]


@dataclass(frozen=True)
class Options:
    """`gateway_api`: make routes; its kinds must be installed. `prober`: None where nothing can be reached from."""

    gateway_api: bool = False
    prober: Prober | None = None


async def connects(probe: Probe) -> bool:
    """Whether somebody takes a connection there; an OSError says why not."""
    _, writer = await asyncio.open_connection(probe.host, probe.port)
    writer.close()
    await writer.wait_closed()
    return True


def controllers(options: Options | None = None) -> tuple[Declaration, ...]:
    chosen = options or Options()
    rendered: Reports[Rendered] = Reports("rendered plans")
    return renderer(chosen, rendered), publisher(chosen, rendered)


def renderer(options: Options, rendered: Reports[Rendered]) -> Group[WorkloadPlan]:
    def observe(view: View, key: Key, _results: Results) -> WorkloadPlan | None:
        plan = view.intent(WorkloadPlan, key)
        return None if plan is None or plan.deleting else plan

    def desire(plan: WorkloadPlan) -> Wanted:
        ours = plan.spec.runtime_class == RUNTIME_CLASS
        return Wanted(children=render(plan, gateway_api=options.gateway_api)) if ours else Wanted()

    def report(plan: WorkloadPlan, answers: Answers) -> Mapping[Hashable, Any]:
        words = "; ".join(refusal.message for _, refusal in sorted(answers.refusals.items()))
        return {plan.key: Rendered(plan.spec.observed_workload_generation, words)}

    return Group(
        name="score-renderer",
        keyed={WorkloadPlan: lambda plan: (plan.key,)},
        children=(*CHILDREN, HTTPRoute) if options.gateway_api else CHILDREN,
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
        key = exposure.key
        plan = view.intent(WorkloadPlan, key)
        values = (plan.spec.resolved_values if plan else None) or {}
        stateful = values.get("kind") == "StatefulSet"
        said = view.reports(rendered, key)
        routes, gateway = routed(view, key, values) if options.gateway_api else ({}, None)
        return Published(
            exposure=exposure,
            plan=plan,
            rendered=next(iter(said.values()), None),
            rollout=ours(view.get(StatefulSet, key)) if stateful else ours(view.get(Deployment, key)),
            service=ours(view.get(Service, key)) if values.get("ports") else None,
            routes=routes,
            gateway=gateway,
            results=results,
            probes=options.prober is not None,
        )

    return Controller(
        name="score-publisher",
        kind=WorkloadExposure,
        reads=(WorkloadPlan, Deployment, StatefulSet, Service, *((HTTPRoute, Gateway) if options.gateway_api else ())),
        sources=(rendered,),
        observe=observe,
        desire=publish.desire,
        judge=publish.judge,
        perform=options.prober,
        status=ByManager(manager=MANAGER, conditions=CONDITIONS, fields=("exposures", "observed_workload_generation")),
    )


def ours(child: T | None) -> T | None:
    """What somebody else has under that name is not what we rendered, and nothing is said of it."""
    return child if child is not None and child.label(MANAGED_BY) == MANAGER else None


def routed(view: View, key: Key, values: dict[str, Any]) -> tuple[dict[str, HTTPRoute], Gateway | None]:
    names = {one["key"]: Key(key.namespace, f"{key.name}.{one['key']}") for one in values.get("routes", ())}
    found = {each: route for each, name in names.items() if (route := ours(view.get(HTTPRoute, name))) is not None}
    return found, view.get(Gateway, Key(key.namespace, GATEWAY)) if names else None
