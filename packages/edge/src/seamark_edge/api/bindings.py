"""bindings.k8s.ngrok.com: remote endpoints, bound into the cluster as Services."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from seamark_runtime.api.meta import Condition, ManagedMeta, Object, Resource, Wire

NAME = "[a-z][a-zA-Z0-9-]{0,62}"
PORT = "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
ENDPOINT_URL = rf"^((https?|tcp|tls)://)?{NAME}\.{NAME}(:{PORT})?$"

Port = Annotated[int, Meta(ge=1, le=65535)]


class TargetMetadata(Wire, frozen=True, kw_only=True):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class BindingTarget(Wire, frozen=True, kw_only=True):
    """The Service that Pods will use, in the namespace of their owner."""

    service: Annotated[str, Meta(description="Name of the Service", min_length=1, max_length=63)]
    namespace: Annotated[str, Meta(description="Namespace of the Service", min_length=1, max_length=63)]
    protocol: Annotated[str, Meta(extra_json_schema={"enum": ["TCP"]})] = "TCP"
    port: Annotated[Port, Meta(description="The port that Pods connect to")]
    metadata: Annotated[TargetMetadata, Meta(description="Labels and annotations for the Service")] | None = None


class BoundEndpointSpec(Wire, frozen=True, kw_only=True):
    endpoint_url: Annotated[
        str, Meta(description="[scheme://]service.namespace[:port]", pattern=ENDPOINT_URL, max_length=256)
    ] = msgspec.field(name="endpointURL")
    scheme: Annotated[str, Meta(extra_json_schema={"enum": ["tcp", "http", "https", "tls"]})] = "https"
    port: Annotated[Port, Meta(description="The port that the forwarders listen on for this endpoint")]
    target: BindingTarget


class BindingEndpoint(Wire, frozen=True, kw_only=True):
    """An endpoint at the edge. All endpoints of one binding share its Services, and so its fate."""

    id: str = ""
    uri: str = ""


class ObjectRef(Wire, frozen=True, kw_only=True):
    name: str


class NamespacedRef(Wire, frozen=True, kw_only=True):
    name: str
    namespace: str | None = None


class BoundEndpointStatus(Wire, frozen=True, kw_only=True):
    observed_generation: int | None = None
    endpoints: Annotated[tuple[BindingEndpoint, ...], Meta(description="The endpoints at the edge")] | None = None
    hashed_name: Annotated[str, Meta(description="The name that follows from scheme, Service, namespace, port")] = ""
    endpoints_summary: Annotated[str, Meta(description='"1 endpoint", "2 endpoints"')] = ""
    conditions: Annotated[
        tuple[Condition, ...],
        Meta(max_length=8, extra_json_schema={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}),
    ] = ()
    target_service_ref: Annotated[NamespacedRef, Meta(description="The Service that Pods use")] | None = None
    upstream_service_ref: Annotated[ObjectRef, Meta(description="The Service of the forwarders")] | None = None


class BoundEndpoint(Object, frozen=True, kw_only=True):
    """One or more endpoints at the edge that share a Service in the cluster."""

    RESOURCE: ClassVar[Resource] = Resource("bindings.k8s.ngrok.com", "v1alpha1", "BoundEndpoint", "boundendpoints")

    metadata: ManagedMeta = ManagedMeta()
    spec: BoundEndpointSpec
    status: BoundEndpointStatus | None = None
