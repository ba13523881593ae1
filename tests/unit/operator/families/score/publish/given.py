"""What runs, and the ways to it, as the runtime sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from seamark.api.score import WorkloadExposure, WorkloadExposureStatus, WorkloadPlan
from seamark.families.score.model.planvalues import Unfit, read
from seamark.families.score.model.runtime import GENERATION, Rendered
from seamark.families.score.rendering.render import render
from seamark.families.score.workloadexposure.connections import dials
from seamark.families.score.workloadexposure.state import Seen
from seamark.gatewayapi.listeners import ParentKey
from seamark_runtime.api.apps import Deployment
from seamark_runtime.api.core import Pod, Service
from seamark_runtime.api.gateway import Gateway, HTTPRoute, ListenerSet
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Results

Parent = Gateway | ListenerSet
NOTHING = Answers({}, {})
LOCAL = "http://app.default.svc.cluster.local:80"
ROUTES = [{"key": "r", "host": "a.example.com", "path": "/", "port": "80"}]
COMPLETE = {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}
ROLLING = {"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated"}


def wire(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def plan(**values: Any) -> WorkloadPlan:
    resolved = {
        "kind": "Deployment",
        "containers": {"main": {"image": "nginx"}},
        "ports": [{"name": "web", "port": 80}],
    }
    spec = {
        "workloadRef": {"name": "app", "uid": "u"},
        "observedWorkloadGeneration": 1,
        "runtimeClass": "kubernetes",
        "resolvedValues": {**resolved, **values},
    }
    metadata = {"name": "app", "namespace": "default", "uid": "plan"}
    return msgspec.convert({"metadata": metadata, "spec": spec}, WorkloadPlan)


def exposure(*urls: str) -> WorkloadExposure:
    raw: dict[str, Any] = {
        "metadata": {"name": "app", "namespace": "default", "generation": 1},
        "spec": {"workloadRef": {"name": "app"}, "observedWorkloadGeneration": 1, "runtimeClass": "kubernetes"},
    }
    if urls:
        raw["status"] = {"exposures": [{"url": url, "reachable": True} for url in urls]}
    return msgspec.convert(raw, WorkloadExposure)


def rollout(available: int = 1, generation: str = "1", *conditions: Any) -> Deployment:
    status = {"observedGeneration": 3, "availableReplicas": available, "conditions": list(conditions) or [COMPLETE]}
    metadata = {"name": "app", "generation": 3, "annotations": {GENERATION: generation}}
    return msgspec.convert({"metadata": metadata, "spec": {"replicas": 1}, "status": status}, Deployment)


def rendered(planned: WorkloadPlan) -> dict[str, Object]:
    values = read(planned)
    assert not isinstance(values, Unfit)
    return render(planned, values)


def seen(**more: Any) -> Seen:
    service = rendered(plan())["service"]
    assert isinstance(service, Service)
    parts: dict[str, Any] = {
        "exposure": exposure(),
        "plan": plan(),
        "rendered": Rendered(1),
        "rollout": rollout(),
        "service": service,
    }
    return Seen(**{**parts, **more})


def pod(name: str = "app-1", address: str = "10.0.0.1", ready: str = "True") -> Pod:
    status = {"podIP": address, "conditions": [{"type": "Ready", "status": ready}]}
    return msgspec.convert({"metadata": {"name": name, "uid": name}, "status": status}, Pod)


def connected(outcome: Any = True, expires: float = 9.0, **more: Any) -> Seen:
    """With a ready Pod that was connected to, if that was possible."""
    parts = {"pods": (pod(),), "probes": True, "inside": True, **more}
    asked = seen(**parts)
    answers = {call.target: Results.answer(call, outcome, expires) for call in dials(asked)}
    return seen(**{"results": Results(answers, now=1.0), **parts})


def reasons(status: WorkloadExposureStatus) -> dict[str, str]:
    return {condition.type: f"{condition.status} {condition.reason}" for condition in status.conditions}


def urls(status: WorkloadExposureStatus) -> list[str]:
    return [entry.url for entry in status.exposures or ()]


def condition(type_: str, status: str = "True", **more: Any) -> dict[str, Any]:
    time = "2026-01-01T00:00:00Z"
    return {"type": type_, "status": status, "reason": "A", "message": "", "lastTransitionTime": time, **more}


def route(*conditions: dict[str, Any], section: str | None = None, **reference: Any) -> HTTPRoute:
    wanted = rendered(plan(routes=ROUTES))["route r"]
    raw = wire(wanted)
    ref = {"name": "default", **({"sectionName": section} if section else {}), **reference}
    raw["metadata"]["generation"] = 2
    raw["spec"]["parentRefs"] = [ref]
    raw["status"] = {"parents": [{"parentRef": ref, "controllerName": "c", "conditions": list(conditions)}]}
    return msgspec.convert(raw, HTTPRoute)


def gateway(*listeners: dict[str, Any], programmed: str = "True", **status: Any) -> dict[ParentKey, Parent]:
    spec = {"listeners": list(listeners) or [{"name": "web", "port": 80, "protocol": "HTTP"}]}
    raw = {
        "metadata": {"name": "default", "namespace": "default", "generation": 4},
        "spec": spec,
        "status": {"conditions": [condition("Programmed", programmed, observedGeneration=4)], **status},
    }
    return {ParentKey("Gateway", Key("default", "default")): msgspec.convert(raw, Gateway)}


ACCEPTED = condition("Accepted", observedGeneration=2)


def routed(route: HTTPRoute, parents: Mapping[ParentKey, Parent], **more: Any) -> Seen:
    return seen(plan=plan(routes=ROUTES), routes=(route,), parents=parents, **more)
