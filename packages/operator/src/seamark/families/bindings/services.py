"""The two Services of a binding. Pure."""

from __future__ import annotations

from seamark.families.bindings.ownership import owner_labels
from seamark.families.bindings.state import GroupReport, PortName, Settings
from seamark_edge.api.bindings import BoundEndpoint
from seamark_runtime.api.core import Service, ServicePort, ServiceSpec
from seamark_runtime.api.meta import Key, ManagedMeta

FORWARDERS = {"app.kubernetes.io/component": "bindings-forwarder"}
URL_ANNOTATION = "ngrok.com/endpoint-url"


def upstream_service(endpoint: BoundEndpoint, group: GroupReport, settings: Settings) -> Service:
    """ClusterIP before the forwarders, with every port of the group: the oldest of the target serves them all."""
    ports = tuple(ServicePort(name=str(name), port=name.port, target_port=listens) for name, listens in group.ports)
    return Service(
        metadata=ManagedMeta(
            name=endpoint.metadata.name,
            namespace=settings.namespace,
            labels=owner_labels(endpoint.key),
            annotations={URL_ANNOTATION: endpoint.spec.endpoint_url},
        ),
        spec=ServiceSpec(type="ClusterIP", selector=FORWARDERS, session_affinity="ClientIP", ports=ports),
    )


def target_service(key: Key, oldest: BoundEndpoint, ports: tuple[PortName, ...], settings: Settings) -> Service:
    """ExternalName in the users' namespace, that names the upstream Service of the group's oldest member."""
    wanted = oldest.spec.target.metadata
    return Service(
        metadata=ManagedMeta(
            name=key.name,
            namespace=key.namespace,
            labels={**((wanted.labels if wanted else None) or {}), **owner_labels(oldest.key)},
            annotations=(wanted.annotations if wanted else None) or None,
        ),
        spec=ServiceSpec(
            type="ExternalName",
            external_name=upstream_host(oldest, settings),
            session_affinity="ClientIP",
            ports=tuple(ServicePort(name=str(one), port=one.port, target_port=one.port) for one in ports),
        ),
    )


def upstream_host(endpoint: BoundEndpoint, settings: Settings) -> str:
    return f"{endpoint.metadata.name}.{settings.namespace}.svc.{settings.cluster_domain}"


def upstream_key(endpoint: BoundEndpoint, settings: Settings) -> Key:
    return Key(settings.namespace, endpoint.metadata.name)


def leads_to(service: Service, endpoint: BoundEndpoint) -> str:
    """The address by which this Service leads to the endpoint's forwarders; empty while it does not."""
    spec = service.spec
    if spec is None or spec.type != "ClusterIP" or spec.cluster_ip in ("", "None"):
        return ""
    wanted = (endpoint.spec.target.port, endpoint.spec.port)
    return spec.cluster_ip if any((one.port, one.target_port) == wanted for one in spec.ports or ()) else ""
