"""WorkloadPlan → what Kubernetes runs. The same plan always gives the same objects, down to the order of lists."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from seamark.api.score import WorkloadPlan
from seamark.families.score.model.identity import SHARED
from seamark.families.score.model.ownership import DELETE, PART_OF, POLICY
from seamark.families.score.model.planvalues import PlanFile, PlanRoute, PlanValues, PlanVolume, binary, port_number
from seamark.families.score.model.quantity import canonical
from seamark.families.score.model.runtime import GENERATION, ROUTE_ROLE, WORKLOAD_LABEL
from seamark.families.score.rendering.pods import container, file_key, preceding, volumes
from seamark.families.score.rendering.state import FILES, GATEWAY
from seamark_runtime.api.apps import (
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
from seamark_runtime.api.core import ConfigMap, Service, ServicePort, ServiceSpec
from seamark_runtime.api.gateway import (
    BackendRef,
    HTTPRoute,
    HTTPRouteRule,
    HTTPRouteSpec,
    ParentReference,
    PathMatch,
    RouteMatch,
)
from seamark_runtime.api.meta import ManagedMeta, Object, OwnerReference

ROLLOUT, SERVICE = "rollout", "service"  # roles; others are "files <container>", "volume <key>", "route <key>"


def render(plan: WorkloadPlan, values: PlanValues) -> dict[str, Object]:
    children: dict[str, Object] = {}
    for name, planned in sorted(values.containers.items()):
        if own := planned.contents:
            children[f"files {name}"] = files(plan, name, own)
    for volume in values.volumes:
        children[f"volume {volume.key}"] = claim(plan, volume)
    children[ROLLOUT] = rollout(plan, values)
    if values.ports:
        children[SERVICE] = service(plan, values)
    for one_route in values.routes:
        children[f"{ROUTE_ROLE}{one_route.key}"] = route(plan, one_route, service_name(plan, values))
    return children


def metadata(plan: WorkloadPlan, name: str) -> ManagedMeta:
    """Named after the Workload, owned by the plan: an exposure that is made anew takes nothing down."""
    owner = owner_of(plan)
    return ManagedMeta(
        name=name,
        namespace=plan.metadata.namespace,
        labels=dict(PART_OF),
        annotations={GENERATION: str(plan.spec.observed_workload_generation)},
        owner_references=(owner,),
    )


def owner_of(plan: WorkloadPlan) -> OwnerReference:
    return OwnerReference(
        api_version=plan.RESOURCE.api_version,
        kind="WorkloadPlan",
        name=plan.metadata.name,
        uid=plan.uid,
        controller=True,
    )


def labels(plan: WorkloadPlan) -> dict[str, str]:
    return {**PART_OF, "app.kubernetes.io/name": plan.metadata.name, WORKLOAD_LABEL: plan.metadata.name}


def rollout(plan: WorkloadPlan, values: PlanValues) -> Deployment | StatefulSet:
    digest = files_digest(plan)
    annotations = {**values.annotations, **({FILES: digest} if digest else {})}
    template = PodTemplate(
        metadata=TemplateMeta(labels=labels(plan), annotations=annotations or None),
        spec=TemplateSpec(
            init_containers=tuple(preceding(values)) or None,
            containers=tuple(
                container(name, planned) for name, planned in sorted(values.containers.items()) if not planned.before
            ),
            volumes=volumes(plan.metadata.name, values) or None,
        ),
    )
    spec = RolloutSpec(
        selector=Selector(match_labels={WORKLOAD_LABEL: plan.metadata.name}),
        template=template,
        service_name=service_name(plan, values) if values.stateful else "",
    )
    kind = StatefulSet if values.stateful else Deployment
    return kind(metadata=metadata(plan, plan.metadata.name), spec=spec)


def files_digest(plan: WorkloadPlan) -> str:
    """Of the files as the plan spells them: a field that becomes known here must not restart what runs."""
    containers: dict[str, Any] = (plan.spec.resolved_values or {}).get("containers", {})
    mounted = {
        name: own
        for name, container in sorted(containers.items())
        if (own := [each for each in container.get("files") or () if "secret" not in each])
    }
    return hashlib.sha256(msgspec.json.encode(mounted)).hexdigest()[:16] if mounted else ""


def service_name(plan: WorkloadPlan, values: PlanValues) -> str:
    return values.service_name or plan.metadata.name


def service(plan: WorkloadPlan, values: PlanValues) -> Service:
    meta = metadata(plan, service_name(plan, values))
    return Service(
        metadata=msgspec.structs.replace(meta, annotations={**values.annotations, **(meta.annotations or {})}),
        spec=ServiceSpec(
            type=platform(plan, "service").get("type") or "ClusterIP",
            selector={WORKLOAD_LABEL: plan.metadata.name},
            ports=tuple(
                ServicePort(
                    name=port.name or f"{port.protocol.lower()}-{port.port}",
                    port=port.port,
                    protocol=port.protocol,
                    target_port=port.target_port or port.port,
                )
                for port in values.ports
            ),
        ),
    )


def files(plan: WorkloadPlan, name: str, entries: Sequence[PlanFile]) -> ConfigMap:
    texts = {file_key(file): file.content for file in entries if file.content is not None}
    bytes_ = {file_key(file): binary(file) for file in entries if file.binary_content is not None}
    return ConfigMap(
        metadata=metadata(plan, f"{plan.metadata.name}.{name}.files"), data=texts or None, binary_data=bytes_ or None
    )


def owners(plan: WorkloadPlan, volume: PlanVolume) -> tuple[OwnerReference, ...]:
    """Of several owners none is the controlling one: Kubernetes allows a single one of these."""
    owner = owner_of(plan)
    return (msgspec.structs.replace(owner, controller=None),) if volume.shared else (owner,)


def claim(plan: WorkloadPlan, volume: PlanVolume) -> PersistentVolumeClaim:
    """Without an owner where it is to outlive the plan: Kubernetes deletes what its owner does not outlive."""
    meta, policy = metadata(plan, volume.source), volume.deprovision_policy
    shared = {SHARED: volume.shared} if volume.shared else {}
    return PersistentVolumeClaim(
        metadata=msgspec.structs.replace(
            meta,
            labels={**(meta.labels or {}), POLICY: policy, **shared},
            annotations=None if shared else meta.annotations,  # one of several plans: no generation is its own
            owner_references=owners(plan, volume) if policy == DELETE else None,
        ),
        spec=PersistentVolumeClaimSpec(
            access_modes=("ReadWriteOnce",), resources=StorageRequest(requests={"storage": canonical(volume.size)})
        ),
    )


def platform(plan: WorkloadPlan, name: str) -> dict[str, str]:
    """What the platform says of one thing, in the template's values of the backend: the texts of it."""
    configured = ((plan.spec.template.values if plan.spec.template else None) or {}).get(name)
    return (
        {key: text for key, text in configured.items() if isinstance(text, str)} if isinstance(configured, dict) else {}
    )


def parent(plan: WorkloadPlan) -> ParentReference:
    gateway = platform(plan, "gateway")
    return ParentReference(name=gateway.get("name") or GATEWAY, namespace=gateway.get("namespace"))


def route(plan: WorkloadPlan, planned: PlanRoute, backend_name: str) -> HTTPRoute:
    backend = BackendRef(name=backend_name, port=port_number(planned))
    match = RouteMatch(path=PathMatch(value=planned.path or "/"))
    return HTTPRoute(
        metadata=metadata(plan, f"{plan.metadata.name}.{planned.key}"),
        spec=HTTPRouteSpec(
            parent_refs=(parent(plan),),
            hostnames=(planned.host,),
            rules=(HTTPRouteRule(matches=(match,), backend_refs=(backend,)),),
        ),
    )
