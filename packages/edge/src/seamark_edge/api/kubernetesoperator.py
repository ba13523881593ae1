"""KubernetesOperator of ngrok.k8s.ngrok.com: an installation, as the edge knows it."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from msgspec import Meta

from seamark_runtime.api.meta import Condition, ManagedMeta, Object, Resource, Wire

DELETE, RETAIN = "Delete", "Retain"
BINDINGS = "bindings"


class OperatorDeployment(Wire, frozen=True, kw_only=True):
    name: str = ""
    namespace: str = ""
    version: str = ""


class OperatorBinding(Wire, frozen=True, kw_only=True):
    """Which endpoints are bound, and with what certificate their connections are made."""

    endpoint_selectors: Annotated[
        tuple[str, ...], Meta(description="CEL over an endpoint of the edge; one that holds is enough", min_length=1)
    ]
    ingress_endpoint: Annotated[str, Meta(description="Where forwarders connect, in place of what the edge says")] = ""
    tls_secret_name: Annotated[
        str, Meta(description="The Secret for the certificate, in this namespace", min_length=1, max_length=253)
    ] = "default-tls"  # noqa: S105  # a name


class OperatorDrain(Wire, frozen=True, kw_only=True):
    policy: Annotated[
        str,
        Meta(
            description="What becomes of the objects made here when this object is deleted",
            extra_json_schema={"enum": [DELETE, RETAIN]},
        ),
    ] = RETAIN


class KubernetesOperatorSpec(Wire, frozen=True, kw_only=True):
    description: Annotated[str, Meta(max_length=255)] = "Created by Seamark"
    metadata: Annotated[Any, Meta(extra_json_schema={"x-kubernetes-preserve-unknown-fields": True})] | None = None
    enabled_features: Annotated[
        tuple[Annotated[str, Meta(extra_json_schema={"enum": ["ingress", "gateway", "bindings"]})], ...],
        Meta(description="What this installation does"),
    ] = (BINDINGS,)
    region: str = "global"
    deployment: OperatorDeployment | None = None
    binding: OperatorBinding | None = None
    drain: OperatorDrain | None = None


class KubernetesOperatorStatus(Wire, frozen=True, kw_only=True):
    observed_generation: int | None = None
    id: Annotated[str, Meta(description="What the edge calls this installation")] | None = None
    uri: str | None = None
    enabled_features: Annotated[str, Meta(description="What is switched on, with commas between")] | None = None
    bindings_ingress_endpoint: Annotated[str, Meta(description="Where forwarders connect")] | None = None
    drain_total: Annotated[int, Meta(description="Objects that are to be released")] | None = None
    drain_done: Annotated[int, Meta(description="Those of them that were")] | None = None
    conditions: Annotated[
        tuple[Condition, ...],
        Meta(max_length=8, extra_json_schema={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}),
    ] = ()


class KubernetesOperator(Object, frozen=True, kw_only=True):
    """An installation in this cluster, registered at the edge."""

    RESOURCE: ClassVar[Resource] = Resource(
        "ngrok.k8s.ngrok.com", "v1alpha1", "KubernetesOperator", "kubernetesoperators"
    )

    metadata: ManagedMeta = ManagedMeta()
    spec: KubernetesOperatorSpec
    status: KubernetesOperatorStatus | None = None
