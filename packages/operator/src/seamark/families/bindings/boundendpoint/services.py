"""The upstream Service of a BoundEndpoint. Pure."""

from __future__ import annotations

from seamark.families.bindings.model.entries import GroupReport
from seamark.families.bindings.model.options import Options
from seamark.families.bindings.model.ownership import owner_labels
from seamark_edge.api.bindings import BoundEndpoint
from seamark_runtime.api.core import Service, ServicePort, ServiceSpec
from seamark_runtime.api.meta import ManagedMeta

FORWARDERS = {"app.kubernetes.io/component": "bindings-forwarder"}
URL_ANNOTATION = "ngrok.com/endpoint-url"


def upstream_service(endpoint: BoundEndpoint, group: GroupReport, options: Options) -> Service:
    """ClusterIP in front of the forwarders, with every port of the group: that of the oldest member serves them all."""
    ports = tuple(ServicePort(name=str(name), port=name.port, target_port=listens) for name, listens in group.ports)
    return Service(
        metadata=ManagedMeta(
            name=endpoint.metadata.name,
            namespace=options.namespace,
            labels=owner_labels(endpoint.key),
            annotations={URL_ANNOTATION: endpoint.spec.endpoint_url},
        ),
        spec=ServiceSpec(type="ClusterIP", selector=FORWARDERS, session_affinity="ClientIP", ports=ports),
    )


def probe_address(service: Service, endpoint: BoundEndpoint) -> str:
    """The address at which this Service forwards to the endpoint's forwarders; empty while it does not."""
    spec = service.spec
    if spec is None or spec.type != "ClusterIP" or spec.cluster_ip in ("", "None"):
        return ""
    wanted = (endpoint.spec.target.port, endpoint.spec.port)
    return spec.cluster_ip if any((port.port, port.target_port) == wanted for port in spec.ports or ()) else ""
