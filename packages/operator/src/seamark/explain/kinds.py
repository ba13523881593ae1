"""The kinds that a chain can pass through, found by the names that kubectl takes for them."""

from __future__ import annotations

from collections.abc import Iterable

from seamark.api.dns import DNSEndpoint
from seamark.api.gatewaypolicies import BackendTLSPolicy
from seamark.api.kgateway import TrafficPolicy
from seamark.api.ngrokingress import Domain
from seamark.api.sample import Greeting
from seamark.api.score import ResourceClaim, Workload, WorkloadExposure
from seamark_edge.api.bindings import BoundEndpoint
from seamark_edge.api.kubernetesoperator import KubernetesOperator
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint, NgrokTrafficPolicy
from seamark_runtime.api.apps import Deployment, StatefulSet
from seamark_runtime.api.coordination import Lease
from seamark_runtime.api.core import ConfigMap, Pod, Secret, Service
from seamark_runtime.api.discovery import EndpointSlice
from seamark_runtime.api.events import Event
from seamark_runtime.api.gateway import Gateway, GatewayClass, ListenerSet
from seamark_runtime.api.gatewayroutes import GRPCRoute, HTTPRoute, TCPRoute, TLSRoute
from seamark_runtime.api.meta import Resource
from seamark_runtime.api.networking import Ingress
from seamark_runtime.errors import UserError

CONFIG_MAP, SECRET, SERVICE, POD = ConfigMap.RESOURCE, Secret.RESOURCE, Service.RESOURCE, Pod.RESOURCE
SLICE, INGRESS = EndpointSlice.RESOURCE, Ingress.RESOURCE
DEPLOYMENT, STATEFUL_SET = Deployment.RESOURCE, StatefulSet.RESOURCE
GREETING, EVENT, LEASE = Greeting.RESOURCE, Event.RESOURCE, Lease.RESOURCE
WORKLOAD, CLAIM, EXPOSURE = Workload.RESOURCE, ResourceClaim.RESOURCE, WorkloadExposure.RESOURCE
DNS_ENDPOINT = DNSEndpoint.RESOURCE
BOUND_ENDPOINT, KUBERNETES_OPERATOR = BoundEndpoint.RESOURCE, KubernetesOperator.RESOURCE
AGENT_ENDPOINT, CLOUD_ENDPOINT = AgentEndpoint.RESOURCE, CloudEndpoint.RESOURCE
TRAFFIC_POLICY, DOMAIN = NgrokTrafficPolicy.RESOURCE, Domain.RESOURCE
GATEWAY_CLASS, GATEWAYS, LISTENER_SET = GatewayClass.RESOURCE, Gateway.RESOURCE, ListenerSet.RESOURCE
HTTP_ROUTE, GRPC_ROUTE = HTTPRoute.RESOURCE, GRPCRoute.RESOURCE
TLS_ROUTE, TCP_ROUTE = TLSRoute.RESOURCE, TCPRoute.RESOURCE
KGATEWAY_POLICY, BACKEND_TLS_POLICY = TrafficPolicy.RESOURCE, BackendTLSPolicy.RESOURCE
SERVICE_CONDITIONS = "k8s.ngrok.com/"  # how the types of our conditions on a Service begin

ROUTES = (HTTP_ROUTE, GRPC_ROUTE, TLS_ROUTE, TCP_ROUTE)
OURS = (
    *(WORKLOAD, CLAIM, EXPOSURE, DNS_ENDPOINT, BOUND_ENDPOINT, KUBERNETES_OPERATOR),
    *(AGENT_ENDPOINT, CLOUD_ENDPOINT, DOMAIN, TRAFFIC_POLICY),
    *(GATEWAY_CLASS, GATEWAYS, LISTENER_SET, *ROUTES, GREETING),
)
KINDS = (*OURS, SERVICE, INGRESS, SLICE, POD, DEPLOYMENT, STATEFUL_SET, CONFIG_MAP, SECRET)
EXPLAINED = (*KINDS, KGATEWAY_POLICY, BACKEND_TLS_POLICY)  # the console does not follow these two

SHORT = {
    "svc": SERVICE,
    "po": POD,
    "deploy": DEPLOYMENT,
    "sts": STATEFUL_SET,
    "ing": INGRESS,
    "cm": CONFIG_MAP,
    "gw": GATEWAYS,
    "gtw": GATEWAYS,
    "gc": GATEWAY_CLASS,
}


def named(name: str, kinds: Iterable[Resource] = EXPLAINED) -> Resource:
    """The kind that a person means: by kind, plural, plural.group or the short name, in any case."""
    lowered = name.lower()
    if lowered in SHORT:
        return SHORT[lowered]
    for kind in kinds:
        if lowered in (kind.kind.lower(), kind.plural, str(kind)):
            return kind
    names = ", ".join(sorted(kind.kind.lower() for kind in EXPLAINED))
    raise UserError(f"there is no kind {name!r} that Seamark can explain", hint=f"there are {names}")


def split(argument: str) -> tuple[Resource, str]:
    """KIND/NAME, as a person types it."""
    kind, slash, name = argument.partition("/")
    if not slash or not name or "/" in name:
        raise UserError(f"{argument!r} names no object", hint="write KIND/NAME, for example service/web")
    return named(kind), name
