"""The kinds that a chain can pass through, found by the names that kubectl takes for them."""

from __future__ import annotations

from collections.abc import Iterable

from seamark.api.meta import Resource
from seamark.core.errors import UserError

GATEWAY = "gateway.networking.k8s.io"
NGROK = "ngrok.k8s.ngrok.com"

CONFIG_MAP = Resource("", "v1", "ConfigMap", "configmaps")
SECRET = Resource("", "v1", "Secret", "secrets")
SERVICE = Resource("", "v1", "Service", "services")
POD = Resource("", "v1", "Pod", "pods")
SLICE = Resource("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
DEPLOYMENT = Resource("apps", "v1", "Deployment", "deployments")
STATEFUL_SET = Resource("apps", "v1", "StatefulSet", "statefulsets")
INGRESS = Resource("networking.k8s.io", "v1", "Ingress", "ingresses")
GREETING = Resource("sample.seamark.dev", "v1alpha1", "Greeting", "greetings")
WORKLOAD = Resource("score.dev", "v1b1", "Workload", "workloads")
CLAIM = Resource("score.dev", "v1b1", "ResourceClaim", "resourceclaims")
EXPOSURE = Resource("score.dev", "v1b1", "WorkloadExposure", "workloadexposures")
DNS_ENDPOINT = Resource("externaldns.k8s.io", "v1alpha1", "DNSEndpoint", "dnsendpoints")
BOUND_ENDPOINT = Resource("bindings.k8s.ngrok.com", "v1alpha1", "BoundEndpoint", "boundendpoints")
KUBERNETES_OPERATOR = Resource(NGROK, "v1alpha1", "KubernetesOperator", "kubernetesoperators")
AGENT_ENDPOINT = Resource(NGROK, "v1alpha1", "AgentEndpoint", "agentendpoints")
CLOUD_ENDPOINT = Resource(NGROK, "v1alpha1", "CloudEndpoint", "cloudendpoints")
TRAFFIC_POLICY = Resource(NGROK, "v1alpha1", "NgrokTrafficPolicy", "ngroktrafficpolicies")
DOMAIN = Resource("ingress.k8s.ngrok.com", "v1alpha1", "Domain", "domains")
GATEWAY_CLASS = Resource(GATEWAY, "v1", "GatewayClass", "gatewayclasses", namespaced=False)
GATEWAYS = Resource(GATEWAY, "v1", "Gateway", "gateways")
LISTENER_SET = Resource(GATEWAY, "v1", "ListenerSet", "listenersets")
HTTP_ROUTE = Resource(GATEWAY, "v1", "HTTPRoute", "httproutes")
GRPC_ROUTE = Resource(GATEWAY, "v1", "GRPCRoute", "grpcroutes")
TLS_ROUTE = Resource(GATEWAY, "v1", "TLSRoute", "tlsroutes")
TCP_ROUTE = Resource(GATEWAY, "v1alpha2", "TCPRoute", "tcproutes")

ROUTES = (HTTP_ROUTE, GRPC_ROUTE, TLS_ROUTE, TCP_ROUTE)
OURS = (
    *(WORKLOAD, CLAIM, EXPOSURE, DNS_ENDPOINT, BOUND_ENDPOINT, KUBERNETES_OPERATOR),
    *(AGENT_ENDPOINT, CLOUD_ENDPOINT, DOMAIN, TRAFFIC_POLICY),
    *(GATEWAY_CLASS, GATEWAYS, LISTENER_SET, *ROUTES, GREETING),
)
SILENT = (TRAFFIC_POLICY,)  # of ours, but without a word of their own
OURS_SPEAK = frozenset(OURS) - frozenset(SILENT)
KINDS = (*OURS, SERVICE, INGRESS, SLICE, POD, DEPLOYMENT, STATEFUL_SET, CONFIG_MAP, SECRET)

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


def named(name: str, kinds: Iterable[Resource] = KINDS) -> Resource:
    """The kind that a person means: by kind, plural, plural.group or the short name, in any case."""
    said = name.lower()
    if said in SHORT:
        return SHORT[said]
    for kind in kinds:
        if said in (kind.kind.lower(), kind.plural, str(kind)):
            return kind
    names = ", ".join(sorted(kind.kind.lower() for kind in KINDS))
    raise UserError(f"there is no kind {name!r} that Seamark can explain", hint=f"there are {names}")


def split(argument: str) -> tuple[Resource, str]:
    """KIND/NAME, as a person types it."""
    kind, slash, name = argument.partition("/")
    if not slash or not name or "/" in name:
        raise UserError(f"{argument!r} names no object", hint="say KIND/NAME, for example service/web")
    return named(kind), name
