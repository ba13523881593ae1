"""discovery.k8s.io: who is behind a Service."""

from __future__ import annotations

from typing import ClassVar

from seamark_runtime.api.meta import Object, Resource, Wire

SERVICE_NAME = "kubernetes.io/service-name"  # the label that says to which Service a slice belongs


class EndpointConditions(Wire, frozen=True, kw_only=True):
    """An unset `ready` counts as ready; an unset `serving` follows `ready`."""

    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class TargetRef(Wire, frozen=True, kw_only=True):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class Endpoint(Wire, frozen=True, kw_only=True):
    addresses: tuple[str, ...] = ()
    conditions: EndpointConditions = EndpointConditions()
    hostname: str | None = None
    target_ref: TargetRef | None = None
    node_name: str | None = None

    @property
    def ready(self) -> bool:
        return self.conditions.ready is not False


class EndpointPort(Wire, frozen=True, kw_only=True):
    name: str | None = None
    port: int | None = None
    protocol: str = "TCP"


class EndpointSlice(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")

    address_type: str = "IPv4"
    endpoints: tuple[Endpoint, ...] | None = None
    ports: tuple[EndpointPort, ...] | None = None

    @property
    def service(self) -> str:
        return self.label(SERVICE_NAME)
