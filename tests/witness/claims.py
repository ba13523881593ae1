"""What True means to a client: for each condition who succeeds, from where, doing what, with which shelf life.

The table follows the specification pages. A condition that no line names claims nothing that a client can see.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tests.witness import edgeclients as edge
from tests.witness import gatewayclients as gateway
from tests.witness import innerclients as inner
from tests.witness import manifests
from tests.witness.api import Json
from tests.witness.claim import AT_THE_EDGE, SHELF, Claim, Lab, conditions

__all__ = ["CLAIMS", "NAMESPACES", "SHELF", "WATCHED", "Claim", "Lab", "claims_of", "conditions", "published"]

GATEWAYS = (
    Claim("Gateway", "Programmed", "gateway", "Envoy answers at its address, from outside", gateway.gateway_answers),
    Claim(
        "Gateway",
        "listener ResolvedRefs",
        "gateway",
        "a TLS client that checks dates accepts the certificate",
        gateway.certificate_valid,
        when=gateway.is_https,
        within="Programmed",
    ),
    Claim(
        "HTTPRoute", "seamark.dev/BackendsReady", "gateway", "a backend answers under the name", gateway.route_served
    ),
    Claim("ListenerSet", "Programmed", "gateway", "Envoy answers at the port of the set", gateway.set_answers),
)
BALANCERS = (
    Claim(
        "Service",
        "k8s.ngrok.com/Reachable",
        "loadbalancer",
        "the address in the status answers, from outside of the edge",
        edge.service_reached,
        when=edge.of_class,
    ),
    Claim(
        "AgentEndpoint",
        "Ready",
        "loadbalancer",
        "the assigned URL answers, from outside of the edge",
        edge.endpoint_reached,
        when=edge.admits,
    ),
    Claim("CloudEndpoint", "Ready", "loadbalancer", "its URL answers, from outside of the edge", edge.cloud_reached),
)
INNER = (
    Claim(
        "BoundEndpoint", "Ready", "bindings", "a Pod connects by the name of the target Service", inner.bound_reached
    ),
    Claim("DNSEndpoint", "Ready", "dns", "dig gets exactly these records from the name server", inner.name_served),
    Claim("Workload", "Ready", "score", "a Pod gets a response from status.endpoint", inner.workload_reached),
)
BESIDE = (  # no fault waits for these
    Claim("Gateway", "listener Programmed", "gateway", "as of the gateway", gateway.gateway_answers),
    Claim("ListenerSet", "listener Programmed", "gateway", "as of the set", gateway.set_answers),
    Claim("HTTPRoute", "Accepted", "gateway", "a matching request is not answered with 404", gateway.route_matched),
    Claim("HTTPRoute", "ResolvedRefs", "gateway", "no request is answered with 500", gateway.references_resolved),
    Claim("TrafficPolicy", "Attached", "gateway", "responses have the header that it sets", gateway.policy_attached),
    Claim("BoundEndpoint", "ConnectivityVerified", "bindings", "by the upstream Service", inner.upstream_reached),
    Claim(
        "WorkloadExposure",
        "Reachable",
        "score",
        "every ready Pod answers a request from a Pod",
        inner.pods_answer,
        denies=False,
    ),
    Claim("WorkloadExposure", "Ready", "score", "the same", inner.pods_answer, denies=False),
    Claim(
        "Service",
        "k8s.ngrok.com/AddressAssigned",
        "loadbalancer",
        "the edge's API lists the address as reserved",
        edge.address_assigned,
        AT_THE_EDGE,
        edge.of_class,
        denies=False,
    ),
    Claim(
        "AgentEndpoint",
        "EndpointCreated",
        "loadbalancer",
        "the edge's API lists the endpoint",
        edge.endpoint_created,
        AT_THE_EDGE,
        edge.is_public,
        denies=False,
    ),
    Claim(
        "AgentEndpoint",
        "UpstreamReachable",
        "loadbalancer",
        "a connection to the upstream is accepted, and not closed at once",
        edge.upstream_accepts,
        when=edge.to_a_service,
        denies=False,
    ),
    Claim(
        "AgentEndpoint",
        "TrafficPolicyApplied",
        "loadbalancer",
        "a client that the policy does not admit gets no response",
        edge.policy_applied,
        AT_THE_EDGE,
        edge.has_policy,
        denies=False,
    ),
    Claim(
        "Domain",
        "Ready",
        "loadbalancer",
        "a TLS client gets a certificate for the name from the edge",
        edge.domain_served,
        AT_THE_EDGE,
        edge.of_the_edge,
    ),
)
CLAIMS = (*GATEWAYS, *BALANCERS, *INNER, *(replace(claim, leading=False) for claim in BESIDE))


def claims_of(obj: Json) -> Iterable[Claim]:
    return (claim for claim in CLAIMS if claim.kind == obj["kind"] and claim.when(obj))


def leading(obj: Json) -> Iterable[Claim]:
    return (claim for claim in claims_of(obj) if claim.leading)


def published(obj: Json) -> dict[str, str]:
    """What clients use of a status, by what it is: an outage must not remove it."""
    status: Json = obj.get("status") or {}
    found: dict[str, str] = {}
    match obj["kind"]:
        case "Gateway":
            found["addresses"] = gateway.address(obj)
        case "Service" if edge.of_class(obj):
            ingress: Any = (status.get("loadBalancer") or {}).get("ingress") or ()
            found["ingress"] = " ".join(str(one.get("hostname") or one.get("ip")) for one in ingress)
        case "AgentEndpoint":
            found["assignedURL"] = str(status.get("assignedURL") or "")
        case "Workload":
            found["endpoint"] = str(status.get("endpoint") or "")
        case "WorkloadExposure":
            found["exposures"] = " ".join(str(one.get("url")) for one in status.get("exposures") or ())
    return found


WATCHED = (*sorted({claim.kind for claim in CLAIMS}), "KubernetesOperator", "Lease")
NAMESPACES = manifests.NAMESPACES
