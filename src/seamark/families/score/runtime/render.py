"""WorkloadPlan → what Kubernetes runs. The same plan always gives the same objects, down to the order of lists."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import msgspec

from seamark.api.apps import (
    Deployment,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PodTemplate,
    RolloutSpec,
    Selector,
    StatefulSet,
    StorageRequest,
    TemplateMeta,
    TemplateSpec,
)
from seamark.api.core import ConfigMap, Service, ServicePort, ServiceSpec
from seamark.api.gateway import (
    BackendRef,
    HTTPRoute,
    HTTPRouteRule,
    HTTPRouteSpec,
    ParentReference,
    PathMatch,
    RouteMatch,
)
from seamark.api.meta import ManagedMeta, Object, OwnerReference
from seamark.api.score import WorkloadPlan
from seamark.families.score.ownership import PART_OF
from seamark.families.score.runtime.pods import container, contents, file_key, volumes
from seamark.families.score.runtime.quantity import canonical
from seamark.families.score.runtime.state import FILES, GATEWAY, GENERATION, WORKLOAD_LABEL

ROLLOUT, SERVICE = "rollout", "service"  # roles; others are "files <container>", "volume <key>", "route <key>"


def render(plan: WorkloadPlan) -> dict[str, Object]:
    values = plan.spec.resolved_values or {}
    children: dict[str, Object] = {}
    for name, one in sorted(values.get("containers", {}).items()):
        if own := contents(one):
            children[f"files {name}"] = files(plan, name, own)
    for volume in values.get("volumes", ()):
        children[f"volume {volume['key']}"] = claim(plan, volume)
    children[ROLLOUT] = rollout(plan, values)
    if values.get("ports"):
        children[SERVICE] = service(plan, values["ports"])
    for one in values.get("routes", ()):
        children[f"route {one['key']}"] = route(plan, one)
    return children


def metadata(plan: WorkloadPlan, name: str) -> ManagedMeta:
    """Named after the Workload, owned by the plan: an exposure that is made anew takes nothing down."""
    owner = OwnerReference(
        api_version=plan.RESOURCE.api_version,
        kind="WorkloadPlan",
        name=plan.metadata.name,
        uid=plan.uid,
        controller=True,
    )
    return ManagedMeta(
        name=name,
        namespace=plan.metadata.namespace,
        labels=dict(PART_OF),
        annotations={GENERATION: str(plan.spec.observed_workload_generation)},
        owner_references=(owner,),
    )


def labels(plan: WorkloadPlan) -> dict[str, str]:
    return {**PART_OF, "app.kubernetes.io/name": plan.metadata.name, WORKLOAD_LABEL: plan.metadata.name}


def rollout(plan: WorkloadPlan, values: dict[str, Any]) -> Deployment | StatefulSet:
    containers = values.get("containers", {})
    mounted = {name: own for name, one in sorted(containers.items()) if (own := contents(one))}
    digest = hashlib.sha256(msgspec.json.encode(mounted)).hexdigest()[:16] if mounted else ""
    template = PodTemplate(
        metadata=TemplateMeta(labels=labels(plan), annotations={FILES: digest} if digest else None),
        spec=TemplateSpec(
            containers=tuple(container(name, one) for name, one in sorted(containers.items())),
            volumes=volumes(plan.metadata.name, values) or None,
        ),
    )
    stateful = values.get("kind") == "StatefulSet"
    spec = RolloutSpec(
        selector=Selector(match_labels={WORKLOAD_LABEL: plan.metadata.name}),
        template=template,
        service_name=plan.metadata.name if stateful else "",
    )
    kind = StatefulSet if stateful else Deployment
    return kind(metadata=metadata(plan, plan.metadata.name), spec=spec)


def service(plan: WorkloadPlan, ports: list[dict[str, Any]]) -> Service:
    return Service(
        metadata=metadata(plan, plan.metadata.name),
        spec=ServiceSpec(
            type=platform(plan, "service").get("type") or "ClusterIP",
            selector={WORKLOAD_LABEL: plan.metadata.name},
            ports=tuple(
                ServicePort(
                    name=one.get("name") or f"{one.get('protocol', 'TCP').lower()}-{one['port']}",
                    port=one["port"],
                    protocol=one.get("protocol", "TCP"),
                    target_port=one.get("targetPort") or one["port"],
                )
                for one in ports
            ),
        ),
    )


def files(plan: WorkloadPlan, name: str, entries: list[dict[str, Any]]) -> ConfigMap:
    texts = {file_key(one): one["content"] for one in entries if "content" in one}
    binary = {file_key(one): base64.b64decode(one["binaryContent"]) for one in entries if "binaryContent" in one}
    return ConfigMap(
        metadata=metadata(plan, f"{plan.metadata.name}.{name}.files"), data=texts or None, binary_data=binary or None
    )


def claim(plan: WorkloadPlan, volume: dict[str, Any]) -> PersistentVolumeClaim:
    return PersistentVolumeClaim(
        metadata=metadata(plan, volume["source"]),
        spec=PersistentVolumeClaimSpec(
            access_modes=("ReadWriteOnce",), resources=StorageRequest(requests={"storage": canonical(volume["size"])})
        ),
    )


def platform(plan: WorkloadPlan, name: str) -> dict[str, Any]:
    """What the platform says of one thing, in the template's values of the backend."""
    said = ((plan.spec.template.values if plan.spec.template else None) or {}).get(name)
    return said if isinstance(said, dict) else {}


def parent(plan: WorkloadPlan) -> ParentReference:
    said = platform(plan, "gateway")
    return ParentReference(name=said.get("name") or GATEWAY, namespace=said.get("namespace"))


def route(plan: WorkloadPlan, one: dict[str, Any]) -> HTTPRoute:
    backend = BackendRef(name=plan.metadata.name, port=int(one["port"]))
    match = RouteMatch(path=PathMatch(value=one.get("path") or "/"))
    return HTTPRoute(
        metadata=metadata(plan, f"{plan.metadata.name}.{one['key']}"),
        spec=HTTPRouteSpec(
            parent_refs=(parent(plan),),
            hostnames=(one["host"],),
            rules=(HTTPRouteRule(matches=(match,), backend_refs=(backend,)),),
        ),
    )
