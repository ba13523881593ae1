"""ngrok.k8s.ngrok.com: endpoints that agents hold, endpoints that the edge keeps, and the policies of both."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from seamark_runtime.api.meta import Condition, ManagedMeta, Object, Resource, Wire
from seamark_runtime.api.schema import ATOMIC, Rule

GROUP = "ngrok.k8s.ngrok.com"
VERSION = "v1alpha1"
OWNED_BY = '{"owned-by":"ngrok-operator"}'

Url = Annotated[str, Meta(min_length=1, max_length=2048)]
Name = Annotated[str, Meta(min_length=1, max_length=253)]
Binding = Literal["public", "internal", "kubernetes"]
Bindings = Annotated[
    tuple[Binding, ...], ATOMIC, Meta(description="Where it can be reached from; one of them at most", max_length=1)
]
Description = Annotated[str, Meta(description="What people read beside it at the edge", max_length=255)]
Metadata = Annotated[
    Any,
    Meta(
        description="What the edge keeps beside it: a map, or a text of JSON",
        extra_json_schema={"x-kubernetes-preserve-unknown-fields": True, "default": OWNED_BY},
    ),
]
Conditions = Annotated[tuple[Condition, ...], Meta(max_length=8)]


class ObjectRef(Wire, frozen=True, kw_only=True):
    """An object of the same namespace."""

    name: Name


class DomainRef(Wire, frozen=True, kw_only=True):
    """The Domain that an endpoint's host belongs to."""

    name: str
    namespace: str | None = None


# ---- what policies are given by


class AgentPolicy(Wire, frozen=True, kw_only=True):
    """A policy: given here, or by the name of an NgrokTrafficPolicy of the same namespace."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(rule="has(self.inline) != has(self.targetRef)", message="give one of inline and targetRef"),
    )
    OURS: ClassVar[tuple[str, ...]] = ("inline", "target_ref")

    inline: Annotated[dict[str, Any], Meta(description="The policy itself, by phases")] | None = None
    target_ref: Annotated[ObjectRef, Meta(description="An NgrokTrafficPolicy")] | None = None


class CloudPolicy(Wire, frozen=True, kw_only=True):
    """A policy: given here, or by the name of an NgrokTrafficPolicy of the same namespace."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="[has(self.inline), has(self.targetRef), has(self.policy)].filter(given, given).size() == 1",
            message="give one of inline, targetRef and policy",
        ),
    )
    OURS: ClassVar[tuple[str, ...]] = ("inline", "target_ref")

    inline: Annotated[dict[str, Any], Meta(description="The policy itself, by phases")] | None = None
    target_ref: Annotated[ObjectRef, Meta(description="An NgrokTrafficPolicy")] | None = None
    policy: Annotated[dict[str, Any], Meta(description="Deprecated: the same as inline")] | None = None


# ---- AgentEndpoint


class Upstream(Wire, frozen=True, kw_only=True):
    """The service that an endpoint's connections are brought to."""

    OURS: ClassVar[tuple[str, ...]] = ("protocol", "proxy_protocol_version")

    url: Annotated[Url, Meta(description="[scheme://]host[:port], or a port alone")]
    protocol: (
        Annotated[Literal["http1", "http2"], Meta(description="Which HTTP the service speaks, where it is HTTP")] | None
    ) = None
    proxy_protocol_version: (
        Annotated[Literal["1", "2"], Meta(description="Tell the service who connects, by the PROXY protocol")] | None
    ) = None


class MutualTls(Wire, frozen=True, kw_only=True):
    """Which clients are let in by their certificates."""

    client_cas_ref: Annotated[ObjectRef, Meta(description="A Secret with `ca.crt`")] = msgspec.field(
        name="clientCAsRef"
    )
    mode: Annotated[Literal["require", "request"], Meta(description="Whether one without a certificate is let in")] = (
        "require"
    )


class TlsTermination(Wire, frozen=True, kw_only=True):
    """TLS that ends at the agent, with a certificate of the cluster."""

    server_certificate_ref: Annotated[ObjectRef, Meta(description="A Secret of type kubernetes.io/tls")]
    mutual_tls: MutualTls | None = msgspec.field(default=None, name="mutualTLS")


class AgentEndpointSpec(Wire, frozen=True, kw_only=True):
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="!has(self.tlsTermination) || self.url.startsWith('tls://')",
            message="tlsTermination is for tls:// URLs",
            field_path=".tlsTermination",
        ),
    )
    OURS: ClassVar[tuple[str, ...]] = ("traffic_policy", "description", "bindings")

    url: Annotated[Url, Meta(description="Where it is reached; an empty host or port is the edge's choice")]
    upstream: Upstream
    traffic_policy: AgentPolicy | None = None
    description: Description = ""
    metadata: Metadata = None
    bindings: Bindings | None = None
    client_certificate_refs: (
        Annotated[
            tuple[ObjectRef, ...], ATOMIC, Meta(description="Secrets of type kubernetes.io/tls, shown to the service")
        ]
        | None
    ) = None
    tls_termination: TlsTermination | None = None


class AgentEndpointStatus(Wire, frozen=True, kw_only=True):
    observed_generation: int | None = None
    assigned_url: Annotated[str, Meta(description="Where it is reached")] = msgspec.field(
        default="", name="assignedURL"
    )
    traffic_policy: Annotated[str, Meta(description='"inline", "none", or the name of an NgrokTrafficPolicy')] = ""
    domain_ref: DomainRef | None = None
    conditions: Conditions = ()


class AgentEndpoint(Object, frozen=True, kw_only=True):
    """An endpoint at the edge that agents hold, and whose connections they bring to a service."""

    RESOURCE: ClassVar[Resource] = Resource(GROUP, VERSION, "AgentEndpoint", "agentendpoints")

    metadata: ManagedMeta = ManagedMeta()
    spec: AgentEndpointSpec
    status: AgentEndpointStatus | None = None


# ---- CloudEndpoint


class CloudEndpointSpec(Wire, frozen=True, kw_only=True):
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="!has(self.trafficPolicyName) || self.trafficPolicyName == '' || !has(self.trafficPolicy)",
            message="give one of trafficPolicyName and trafficPolicy",
        ),
    )
    OURS: ClassVar[tuple[str, ...]] = ("traffic_policy", "description", "bindings", "pooling_enabled")

    url: Annotated[Url, Meta(description="Where it is reached")]
    pooling_enabled: Annotated[bool, Meta(description="Share the URL with other endpoints that allow it")] = False
    traffic_policy: CloudPolicy | None = None
    traffic_policy_name: Annotated[str, Meta(description="Deprecated: use trafficPolicy.targetRef")] = ""
    description: Description = ""
    metadata: Metadata = None
    bindings: Bindings | None = None


class CloudEndpointStatus(Wire, frozen=True, kw_only=True):
    observed_generation: int | None = None
    id: Annotated[str, Meta(description="Its name at the edge")] = ""
    assigned_url: Annotated[str, Meta(description="Where it is reached")] = msgspec.field(
        default="", name="assignedURL"
    )
    domain_ref: DomainRef | None = None
    conditions: Conditions = ()


class CloudEndpoint(Object, frozen=True, kw_only=True):
    """An endpoint that the edge itself keeps, whether agents are there or not."""

    RESOURCE: ClassVar[Resource] = Resource(GROUP, VERSION, "CloudEndpoint", "cloudendpoints")

    metadata: ManagedMeta = ManagedMeta()
    spec: CloudEndpointSpec
    status: CloudEndpointStatus | None = None


# ---- NgrokTrafficPolicy


class NgrokTrafficPolicySpec(Wire, frozen=True, kw_only=True):
    policy: (
        Annotated[
            dict[str, Any],
            Meta(description="Rules by phase: on_tcp_connect, on_http_request, on_http_response"),
        ]
        | None
    ) = None


class NgrokTrafficPolicyStatus(Wire, frozen=True, kw_only=True):
    observed_generation: int | None = None
    conditions: Conditions = ()


class NgrokTrafficPolicy(Object, frozen=True, kw_only=True):
    """What is done with connections and requests, for the endpoints that name it."""

    RESOURCE: ClassVar[Resource] = Resource(GROUP, VERSION, "NgrokTrafficPolicy", "ngroktrafficpolicies")

    spec: NgrokTrafficPolicySpec = NgrokTrafficPolicySpec()
    status: NgrokTrafficPolicyStatus | None = None
